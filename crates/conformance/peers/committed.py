#!/usr/bin/env python3
"""The committed offset: committed.py BOOTSTRAP GROUP TOPIC PARTITION"""
import os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "suites", "lib"))
import suite

suite.in_venv("confluent-python", "confluent-kafka==2.16.1")
from confluent_kafka import Consumer, TopicPartition

consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2]})
print(consumer.committed([TopicPartition(sys.argv[3], int(sys.argv[4]))], timeout=20)[0].offset)
