#!/usr/bin/env python3
"""What the broker holds: verify.py BOOTSTRAP TOPIC FROM_OFFSET..

One FROM_OFFSET a partition. Prints `record PARTITION OFFSET VALUE` for each record from there to the end of the log,
then `end PARTITION OFFSET` and `committed PARTITION OFFSET` for each partition; or `absent` where the broker has no such
topic.
"""
import os, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "suites", "lib"))
import suite

suite.in_venv("confluent-python", "confluent-kafka==2.16.1")
from confluent_kafka import Consumer, KafkaException, TopicPartition

BOOTSTRAP, TOPIC, START = sys.argv[1], sys.argv[2], [int(a) for a in sys.argv[3:]]
consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "crash-" + TOPIC, "enable.auto.commit": False,
                     "enable.partition.eof": True, "auto.offset.reset": "error", "reconnect.backoff.max.ms": 100})


def patiently(call):
    end = time.time() + 60
    while True:
        try:
            return call()
        except KafkaException as e:
            if time.time() > end:
                raise
            time.sleep(0.2)


if TOPIC not in patiently(lambda: consumer.list_topics(timeout=10)).topics:
    print("absent", flush=True)
    os._exit(0)
parts = range(len(START))
ends = [patiently(lambda p=p: consumer.get_watermark_offsets(TopicPartition(TOPIC, p), timeout=10))[1] for p in parts]
open_parts = {p for p in parts if START[p] < ends[p]}
consumer.assign([TopicPartition(TOPIC, p, START[p]) for p in open_parts])
out, deadline = [], time.time() + 120
while open_parts:
    if time.time() > deadline:
        sys.exit(f"verify: no end of partitions {sorted(open_parts)} after 120 s")
    for m in consumer.consume(10000, 0.2):
        if m.error() is not None:
            if m.error().name() == "_PARTITION_EOF":
                open_parts.discard(m.partition())
                continue
            sys.exit(f"verify: partition {m.partition()}: {m.error()}")
        if m.offset() < ends[m.partition()]:
            out.append(f"record {m.partition()} {m.offset()} {m.value().split(b' ')[0].decode()}")
        if m.offset() >= ends[m.partition()] - 1:
            open_parts.discard(m.partition())
print("\n".join(out))
for p in parts:
    print(f"end {p} {ends[p]}")
for tp in patiently(lambda: consumer.committed([TopicPartition(TOPIC, p) for p in parts], timeout=10)):
    if tp.error is not None:
        sys.exit(f"verify: committed offset of {tp.partition}: {tp.error}")
    print(f"committed {tp.partition} {tp.offset}")
sys.stdout.flush()
os._exit(0)
