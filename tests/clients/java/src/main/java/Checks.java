import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.Callable;

/** Prints one line per check, as xtask's clients suite reads them. */
final class Checks {
    private Checks() {}

    static void check(String name, Object expected, Callable<?> action) {
        try {
            Object found = action.call();
            if (Objects.equals(found, expected)) {
                System.out.println("ok " + name);
            } else {
                System.out.println("not ok " + name + ": " + found + " is not " + expected);
            }
        } catch (Exception why) {
            System.out.println("not ok " + name + ": " + String.valueOf(why).replace('\n', ' '));
        }
        System.out.flush();
    }

    static void restart() throws IOException {
        System.out.println("restart");
        System.out.flush();
        while (true) {
            int read = System.in.read();
            if (read == '\n' || read < 0) {
                return;
            }
        }
    }

    /** Repeats an action until the client has found the server again. */
    static <T> T untilAnswered(Callable<T> action) throws Exception {
        long limit = System.nanoTime() + 15_000_000_000L;
        while (true) {
            try {
                return action.call();
            } catch (Exception why) {
                if (System.nanoTime() > limit) {
                    throw why;
                }
                Thread.sleep(100);
            }
        }
    }
}
