import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.resps.ScanResult;

/** jedis, unmodified: strings, pipelines, transactions, SCAN, a pool that reconnects. */
final class JedisClient {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        try (JedisPooled pool = new JedisPooled("127.0.0.1", port)) {
            pool.flushAll();
            Checks.check("set", "OK", () -> pool.set("k", "v"));
            Checks.check("get", "v", () -> pool.get("k"));
            Checks.check("missing key", null, () -> pool.get("none"));
            Checks.check("set nx", null, () -> pool.set("k", "w", SetParams.setParams().nx()));
            Checks.check("incrBy", 42L, () -> pool.incrBy("n", 42));
            Checks.check("expiry", true, () -> pool.expire("k", 100) == 1 && pool.ttl("k") > 95);
            Checks.check("mset", "OK", () -> pool.mset("a", "1", "b", "2"));
            Checks.check("mget", Arrays.asList("1", "2", null), () -> pool.mget("a", "b", "none"));
            Checks.check("pipeline", "999", () -> pipeline(pool));
            Checks.check("scan", 1000, () -> scan(pool));
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                Checks.check("ping", "PONG", jedis::ping);
                Checks.check("transaction", Arrays.asList("OK", 2L), () -> {
                    Transaction transaction = jedis.multi();
                    transaction.set("x", "1");
                    transaction.incr("x");
                    return transaction.exec();
                });
                Checks.check("watch", null, () -> {
                    jedis.watch("x");
                    pool.set("x", "changed");
                    Transaction transaction = jedis.multi();
                    transaction.get("x");
                    return transaction.exec();
                });
            }
            Checks.restart();
            Checks.check("reconnects", "OK", () -> Checks.untilAnswered(() -> pool.set("again", "1")));
            Checks.check("works after the restart", "1", () -> pool.get("again"));
        }
    }

    private static String pipeline(JedisPooled pool) {
        try (Pipeline pipeline = (Pipeline) pool.pipelined()) {
            for (int number = 0; number < 1000; number++) {
                pipeline.set("p:" + number, Integer.toString(number));
            }
            Response<String> last = pipeline.get("p:999");
            pipeline.sync();
            return last.get();
        }
    }

    private static int scan(JedisPooled pool) {
        Set<String> keys = new HashSet<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<String> page = pool.scan(cursor, new ScanParams().match("p:*").count(100));
            keys.addAll(page.getResult());
            cursor = page.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        return keys.size();
    }
}
