//! librdkafka, called as C calls it: `rd_kafka_produce`, `rd_kafka_poll` and `rd_kafka_consume_batch_queue`.
//!
//! The safe interface of the crate `rdkafka` looks up the topic by name and makes an event for each record, which costs
//! as much as the rest of a client. All `unsafe` of the bench is in this file.
#![expect(unsafe_code, reason = "librdkafka's C functions are called directly")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use anyhow::{Result, bail};
use parking_lot::Mutex;
use rdkafka::bindings as native;

use crate::Target;

/// The longest error text that librdkafka writes.
const ERROR_TEXT: usize = 512;
/// The first offset of a partition.
const BEGINNING: i64 = -2;
/// The partition that leaves the choice to the partitioner.
const ANY_PARTITION: i32 = -1;
/// Milliseconds that the first look at the cluster may take.
const METADATA_MS: c_int = 10_000;

/// What becomes of records; called by the thread that polls.
pub(crate) trait Deliveries: Send {
    /// A record has its place in the log.
    fn delivered(&mut self, place: Place, payload: &[u8]);
    /// A record has failed for good.
    fn failed(&mut self, error: &str);
}

/// Where a record is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// A producer of one topic.
pub(crate) struct Producer<D> {
    handle: *mut native::rd_kafka_t,
    topic: *mut native::rd_kafka_topic_t,
    /// librdkafka holds a pointer to it as long as the handle lives.
    deliveries: Arc<Mutex<D>>,
}

// SAFETY: librdkafka's handles may be used from any thread, and what the callback touches is behind a lock.
unsafe impl<D: Deliveries> Send for Producer<D> {}
// SAFETY: as above.
unsafe impl<D: Deliveries> Sync for Producer<D> {}

/// What happened to a record that was handed over.
#[derive(PartialEq, Eq)]
pub(crate) enum Sent {
    Queued,
    /// The queue is full: poll, and try again.
    Full,
}

impl<D: Deliveries> Producer<D> {
    /// A producer that knows the leaders of its topic.
    pub(crate) fn new(target: &Target, defaults: &[(&str, &str)], deliveries: Arc<Mutex<D>>) -> Result<Self> {
        let conf = configuration(target, defaults)?;
        let topic = CString::new(target.topic.as_str())?;
        // SAFETY: `conf` is fresh, and the pointer is that of the lock inside the Arc, which this struct keeps.
        let handle = unsafe {
            native::rd_kafka_conf_set_opaque(conf, Arc::as_ptr(&deliveries).cast_mut().cast());
            native::rd_kafka_conf_set_dr_msg_cb(conf, Some(delivery_report::<D>));
            new_handle(native::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf)?
        };
        // SAFETY: handle and name are valid; librdkafka copies the name.
        let topic = unsafe { native::rd_kafka_topic_new(handle, topic.as_ptr(), std::ptr::null_mut()) };
        let producer = Producer {
            handle,
            topic,
            deliveries,
        };
        producer.wait_for_leaders()?;
        Ok(producer)
    }

    fn wait_for_leaders(&self) -> Result<()> {
        let mut metadata = std::ptr::null();
        // SAFETY: handle and topic are valid; the metadata is freed where it was returned.
        let error = unsafe {
            let error = native::rd_kafka_metadata(self.handle, 0, self.topic, &mut metadata, METADATA_MS);
            if !metadata.is_null() {
                native::rd_kafka_metadata_destroy(metadata);
            }
            error
        };
        if error != native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            bail!("no metadata: {}", text(error));
        }
        Ok(())
    }

    /// Hands a record over; it is copied. A partition of `None` leaves the choice to the key.
    pub(crate) fn send(&self, partition: Option<i32>, key: &[u8], payload: &[u8]) -> Result<Sent> {
        // SAFETY: the topic is valid; key and payload are copied before the call returns, and not written to.
        let outcome = unsafe {
            native::rd_kafka_produce(
                self.topic,
                partition.unwrap_or(ANY_PARTITION),
                native::RD_KAFKA_MSG_F_COPY as c_int,
                payload.as_ptr().cast_mut().cast(),
                payload.len(),
                key.as_ptr().cast(),
                key.len(),
                std::ptr::null_mut(),
            )
        };
        if outcome == 0 {
            return Ok(Sent::Queued);
        }
        // SAFETY: no arguments.
        match unsafe { native::rd_kafka_last_error() } {
            native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__QUEUE_FULL => Ok(Sent::Full),
            error => bail!("cannot produce: {}", text(error)),
        }
    }

    /// Reports what was delivered; waits for the first report so many milliseconds at most.
    pub(crate) fn poll(&self, milliseconds: c_int) {
        // SAFETY: the handle is valid.
        unsafe { native::rd_kafka_poll(self.handle, milliseconds) };
    }

    /// Waits until everything has its report; whether it had in time.
    pub(crate) fn flush(&self, milliseconds: c_int) -> bool {
        // SAFETY: the handle is valid.
        let error = unsafe { native::rd_kafka_flush(self.handle, milliseconds) };
        error == native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// What became of the records.
    pub(crate) fn deliveries(&self) -> &Mutex<D> {
        &self.deliveries
    }
}

impl<D> Drop for Producer<D> {
    fn drop(&mut self) {
        // SAFETY: nobody uses the handles any more; no callback runs after this.
        unsafe {
            native::rd_kafka_topic_destroy(self.topic);
            native::rd_kafka_destroy(self.handle);
        }
    }
}

/// librdkafka's report on one record.
unsafe extern "C" fn delivery_report<D: Deliveries>(
    _: *mut native::rd_kafka_t,
    message: *const native::rd_kafka_message_t,
    opaque: *mut c_void,
) {
    // SAFETY: the opaque is the lock given in `Producer::new`, which outlives the handle; the message lives during the call.
    let (deliveries, message) = unsafe { (&*opaque.cast::<Mutex<D>>(), &*message) };
    let mut deliveries = deliveries.lock();
    if message.err != native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
        return deliveries.failed(&text(message.err));
    }
    let place = Place {
        partition: message.partition,
        offset: message.offset,
    };
    deliveries.delivered(place, payload(message));
}

/// A consumer of all partitions of one topic from the beginning, outside any group.
pub(crate) struct Consumer {
    queue: *mut native::rd_kafka_queue_t,
    batch: Vec<*mut native::rd_kafka_message_t>,
}

// SAFETY: librdkafka's handles may be used from any thread.
unsafe impl Send for Consumer {}

impl Consumer {
    /// Begins to fetch. Up to `batch` records are taken at a time.
    pub(crate) fn new(target: &Target, defaults: &[(&str, &str)], batch: usize) -> Result<Consumer> {
        let conf = configuration(target, defaults)?;
        let topic = CString::new(target.topic.as_str())?;
        // SAFETY: every handle is fresh and used as librdkafka's manual says; the list is freed after it was copied.
        let (error, queue) = unsafe {
            let handle = new_handle(native::rd_kafka_type_t::RD_KAFKA_CONSUMER, conf)?;
            native::rd_kafka_poll_set_consumer(handle);
            let list = native::rd_kafka_topic_partition_list_new(target.partitions as c_int);
            for partition in 0..target.partitions {
                let row = native::rd_kafka_topic_partition_list_add(list, topic.as_ptr(), partition as i32);
                (*row).offset = BEGINNING;
            }
            let error = native::rd_kafka_assign(handle, list);
            native::rd_kafka_topic_partition_list_destroy(list);
            (error, native::rd_kafka_queue_get_consumer(handle))
        };
        if error != native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            bail!("cannot assign: {}", text(error));
        }
        Ok(Consumer {
            queue,
            batch: vec![std::ptr::null_mut(); batch],
        })
    }

    /// Takes records until the batch is full or the time is up, and shows each one.
    pub(crate) fn take(&mut self, milliseconds: c_int, mut each: impl FnMut(Place, &[u8])) -> Result<()> {
        // SAFETY: the queue is valid, and the array has the length that is given.
        let count = unsafe {
            native::rd_kafka_consume_batch_queue(
                self.queue,
                milliseconds,
                self.batch.as_mut_ptr(),
                self.batch.len(),
            )
        };
        let mut failure = None;
        for message in self.batch.iter().take(usize::try_from(count).unwrap_or(0)) {
            // SAFETY: librdkafka filled so many places with messages, each destroyed once and not used after that.
            unsafe {
                let record = &**message;
                if record.err == native::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                    let place = Place {
                        partition: record.partition,
                        offset: record.offset,
                    };
                    each(place, payload(record));
                } else {
                    failure = Some(text(record.err));
                }
                native::rd_kafka_message_destroy(*message);
            }
        }
        match failure {
            Some(failure) => bail!("cannot consume: {failure}"),
            None => Ok(()),
        }
    }
}

/// The value of a record.
fn payload(message: &native::rd_kafka_message_t) -> &[u8] {
    if message.payload.is_null() {
        return &[];
    }
    // SAFETY: a payload that is there has the length that the message says, and lives as long as the message.
    unsafe { std::slice::from_raw_parts(message.payload.cast(), message.len) }
}

/// The settings: ours, then those of the command line.
fn configuration(target: &Target, defaults: &[(&str, &str)]) -> Result<*mut native::rd_kafka_conf_t> {
    // SAFETY: no arguments.
    let conf = unsafe { native::rd_kafka_conf_new() };
    let own = [("bootstrap.servers", target.bootstrap.as_str())];
    let given = target
        .settings
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in own.into_iter().chain(defaults.iter().copied()).chain(given) {
        let (key, value) = (CString::new(key)?, CString::new(value)?);
        let mut error = [0 as c_char; ERROR_TEXT];
        // SAFETY: all pointers are valid during the call.
        let outcome = unsafe {
            native::rd_kafka_conf_set(conf, key.as_ptr(), value.as_ptr(), error.as_mut_ptr(), ERROR_TEXT)
        };
        if outcome != native::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            bail!("{}", written(&error));
        }
    }
    Ok(conf)
}

/// A client; it takes the configuration over.
///
/// # Safety
///
/// `conf` must be a valid configuration that nobody else owns.
unsafe fn new_handle(
    kind: native::rd_kafka_type_t,
    conf: *mut native::rd_kafka_conf_t,
) -> Result<*mut native::rd_kafka_t> {
    let mut error = [0 as c_char; ERROR_TEXT];
    // SAFETY: the caller's promise; the text is ours.
    let handle = unsafe { native::rd_kafka_new(kind, conf, error.as_mut_ptr(), ERROR_TEXT) };
    if handle.is_null() {
        bail!("{}", written(&error));
    }
    Ok(handle)
}

/// The text that librdkafka wrote into a buffer.
fn written(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer
        .iter()
        .map(|c| *c as u8)
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An error in words.
fn text(error: native::rd_kafka_resp_err_t) -> String {
    rdkafka::types::RDKafkaErrorCode::from(error).to_string()
}
