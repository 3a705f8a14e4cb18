// go-redis, unmodified: strings, pipelines, transactions, SCAN, reconnecting.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func check(name string, expected any, action func() (any, error)) {
	found, err := action()
	switch {
	case err != nil:
		fmt.Printf("not ok %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
	case !reflect.DeepEqual(found, expected):
		fmt.Printf("not ok %s: %v is not %v\n", name, found, expected)
	default:
		fmt.Printf("ok %s\n", name)
	}
}

func session(port string, protocol int) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, Protocol: protocol, MaxRetries: 20, MaxRetryBackoff: 200 * time.Millisecond})
	tag := func(name string) string { return fmt.Sprintf("RESP%d %s", protocol, name) }
	client.FlushAll(ctx)
	check(tag("ping"), "PONG", func() (any, error) { return client.Ping(ctx).Result() })
	check(tag("set"), "OK", func() (any, error) { return client.Set(ctx, "k", "v", time.Minute).Result() })
	check(tag("get"), "v", func() (any, error) { return client.Get(ctx, "k").Result() })
	check(tag("missing key"), true, func() (any, error) {
		return errors.Is(client.Get(ctx, "none").Err(), redis.Nil), nil
	})
	check(tag("ttl"), time.Minute, func() (any, error) { return client.TTL(ctx, "k").Result() })
	check(tag("set nx"), false, func() (any, error) { return client.SetNX(ctx, "k", "w", 0).Result() })
	check(tag("incrby"), int64(42), func() (any, error) { return client.IncrBy(ctx, "n", 42).Result() })
	check(tag("incrbyfloat"), 2.5, func() (any, error) { return client.IncrByFloat(ctx, "f", 2.5).Result() })
	check(tag("mset and mget"), []any{"1", "2", nil}, func() (any, error) {
		if err := client.MSet(ctx, "a", 1, "b", 2).Err(); err != nil {
			return nil, err
		}
		return client.MGet(ctx, "a", "b", "none").Result()
	})
	check(tag("pipeline"), "999", func() (any, error) {
		pipe := client.Pipeline()
		for number := range 1000 {
			pipe.Set(ctx, fmt.Sprintf("p:%d", number), number, 0)
		}
		last := pipe.Get(ctx, "p:999")
		_, err := pipe.Exec(ctx)
		return last.Val(), err
	})
	check(tag("transaction"), int64(2), func() (any, error) {
		pipe := client.TxPipeline()
		pipe.Set(ctx, "x", 1, 0)
		number := pipe.Incr(ctx, "x")
		_, err := pipe.Exec(ctx)
		return number.Val(), err
	})
	check(tag("watch"), true, func() (any, error) {
		err := client.Watch(ctx, func(tx *redis.Tx) error {
			client.Set(ctx, "x", "changed", 0)
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Get(ctx, "x")
				return nil
			})
			return err
		}, "x")
		return errors.Is(err, redis.TxFailedErr), nil
	})
	check(tag("scan"), 1000, func() (any, error) {
		keys := map[string]bool{}
		pages := client.Scan(ctx, 0, "p:*", 100).Iterator()
		for pages.Next(ctx) {
			keys[pages.Val()] = true
		}
		return len(keys), pages.Err()
	})
	return client
}

func main() {
	session(os.Args[1], 2)
	client := session(os.Args[1], 3)
	fmt.Println("restart")
	bufio.NewReader(os.Stdin).ReadString('\n')
	check("works after the restart", "1", func() (any, error) {
		if err := client.Set(ctx, "again", 1, 0).Err(); err != nil {
			return nil, err
		}
		return client.Get(ctx, "again").Result()
	})
}
