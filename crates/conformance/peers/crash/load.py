#!/usr/bin/env python3
"""Load that remembers what the broker promised: load.py BOOTSTRAP DIR TOPIC PARTITIONS

Two idempotent producers (acks=all) write numbered records to every partition, and a consumer group reads and commits
synchronously. Appends to DIR/acks.tsv (partition, offset, value) what was acknowledged, and to DIR/commits.tsv
(partition, offset) what was committed. Goes on through any number of broker crashes until its standard input closes.
"""
import os, sys, threading, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "suites", "lib"))
import suite

suite.in_venv("confluent-python", "confluent-kafka==2.16.1")
from confluent_kafka import Consumer, KafkaException, Producer

BOOTSTRAP, DIR, TOPIC, PARTITIONS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
GROUP = "crash-" + TOPIC
stopping = threading.Event()


def produce(name):
    acks = open(os.path.join(DIR, "acks.tsv"), "a", buffering=1)
    producer = Producer({
        "bootstrap.servers": BOOTSTRAP, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
        "delivery.timeout.ms": 2147483647, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100,
        "retry.backoff.ms": 20, "retry.backoff.max.ms": 100, "queue.buffering.max.messages": 20000,
        "topic.metadata.refresh.interval.ms": 1000,
    })

    def delivered(error, message):
        if error is None:
            acks.write(f"{message.partition()}\t{message.offset()}\t{message.value().split(b' ')[0].decode()}\n")
        else:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            stopping.set()

    n = 0
    while not stopping.is_set():
        try:
            value = f"{name}.{n} ".encode() + b"x" * (n % 400)
            producer.produce(TOPIC, value, partition=n % PARTITIONS, on_delivery=delivered)
            n += 1
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
        if n % 50 == 0:
            time.sleep(0.005)
    producer.flush(60)
    acks.close()


def consume():
    commits = open(os.path.join(DIR, "commits.tsv"), "a", buffering=1)
    consumer = Consumer({
        "bootstrap.servers": BOOTSTRAP, "group.id": GROUP, "enable.auto.commit": False, "auto.offset.reset": "earliest",
        "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500, "topic.metadata.refresh.interval.ms": 1000,
    })
    consumer.subscribe([TOPIC])
    while not stopping.is_set():
        got = consumer.consume(500, 0.1)
        if any(m.error() is None for m in got):
            try:
                for tp in consumer.commit(asynchronous=False):
                    if tp.error is None and tp.offset >= 0:
                        commits.write(f"{tp.partition}\t{tp.offset}\n")
            except KafkaException:
                pass  # not acknowledged: nothing was promised
    commits.close()


threads = [threading.Thread(target=produce, args=(f"{os.getpid()}-{i}",)) for i in range(2)] + [threading.Thread(target=consume)]
for t in threads:
    t.daemon = True
    t.start()
print("started", flush=True)
sys.stdin.read()
stopping.set()
for t in threads:
    t.join(90)
