import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.MemcachedClient;

/** spymemcached (text protocol), unmodified: storage, cas, arithmetic, bulk get, reconnecting. */
final class SpyMemcachedClient {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SLF4JLogger");
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0]));
        MemcachedClient client = new MemcachedClient(address);
        client.flush().get();
        Checks.check("set", true, () -> client.set("k", 100, "v").get());
        Checks.check("get", "v", () -> client.get("k"));
        Checks.check("missing key", null, () -> client.get("none"));
        Checks.check("add", false, () -> client.add("k", 0, "w").get());
        Checks.check("replace", true, () -> client.replace("k", 0, "w").get());
        Checks.check("typed value", 77L, () -> {
            client.set("long", 0, 77L).get();
            return client.get("long");
        });
        Checks.check("incr", 15L, () -> {
            client.set("n", 0, "10").get();
            return client.incr("n", 5);
        });
        Checks.check("decr", 0L, () -> client.decr("n", 100));
        Checks.check("cas", Arrays.asList(CASResponse.OK, CASResponse.EXISTS), () -> {
            CASValue<Object> read = client.gets("k");
            return Arrays.asList(client.cas("k", read.getCas(), "x"), client.cas("k", read.getCas(), "y"));
        });
        Checks.check("bulk get", Map.of("k", "x", "n", "0"), () -> {
            Map<String, Object> found = client.getBulk("k", "n", "none");
            found.replaceAll((key, value) -> value.toString().trim());
            return found;
        });
        Checks.check("touch", true, () -> client.touch("k", 100).get());
        Checks.check("delete", true, () -> client.delete("k").get());
        Checks.check("statistics", true, () -> client.getStats().values().iterator().next().containsKey("curr_items"));
        Checks.restart();
        Checks.check("reconnects", true, () -> Checks.untilAnswered(() -> client.set("again", 0, "1").get()));
        Checks.check("works after the restart", "1", () -> client.get("again"));
        client.shutdown();
    }
}
