# Lookups in an RDD, with a partitioner (Spark's index) and without: `lookup.py RECORDS SECONDS`.
import random
import sys
import time

from pyspark import SparkConf, SparkContext

conf = SparkConf().setMaster("local[*]").setAppName("lookup").set("spark.ui.enabled", "false")
context = SparkContext(conf=conf)
context.setLogLevel("ERROR")
records, seconds = int(sys.argv[1]), float(sys.argv[2])
pairs = context.parallelize(range(records)).map(lambda n: (f"{n:010d}", f"{n:010d}"))
plain = pairs.cache()
indexed = pairs.partitionBy(context.defaultParallelism).cache()
plain.count()
indexed.count()


def rate(rdd):
    rdd.lookup(f"{0:010d}")
    begun, done = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        key = f"{random.randrange(records):010d}"
        assert rdd.lookup(key) == [key]
        done += 1
    return done / (time.monotonic() - begun)


print(f"indexed={rate(indexed)}")
print(f"plain={rate(plain)}")
context.stop()
