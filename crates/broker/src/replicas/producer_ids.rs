//! Producer ids: handed out from blocks that the controller gives, each block once (rule 134).

use std::ops::Range;
use std::sync::Arc;

use model::{ErrorCode, ProducerId};
use parking_lot::Mutex;

/// When so small a part of a block is left, the next one is asked for.
const LOW_PART: i64 = 10;

/// Is told an id, or why there is none.
pub(crate) type IdReply = Box<dyn FnOnce(Result<ProducerId, ErrorCode>) + Send>;
/// Is told the first and the number of ids of a block, or that there is none now.
pub(crate) type BlockReply = Box<dyn FnOnce(Option<Range<i64>>) + Send>;

/// Where blocks come from: the controller, which has given a block to nobody else once it is committed.
pub(crate) trait ProducerIdBlocks: Send + Sync {
    /// Asks for a block. `reply` may be called on any thread, must not be called before this returns with a lock held.
    fn allocate(&self, reply: BlockReply);
}

/// The ids of this broker.
pub(crate) struct ProducerIds {
    blocks: Box<dyn ProducerIdBlocks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Range<i64>,
    /// A tenth of the block that `current` was.
    low: i64,
    next: Option<Range<i64>>,
    asking: bool,
    waiting: Vec<IdReply>,
}

impl ProducerIds {
    pub(crate) fn new(blocks: Box<dyn ProducerIdBlocks>) -> Arc<ProducerIds> {
        Arc::new(ProducerIds {
            blocks,
            state: Mutex::default(),
        })
    }

    /// Gives an id that nobody had: at once while the block lasts, else when the controller has given the next one.
    pub(crate) fn next(self: &Arc<Self>, reply: IdReply) {
        let mut state = self.state.lock();
        let id = state.take();
        let ask = state.wants_block() && !std::mem::replace(&mut state.asking, true);
        match id {
            Some(id) => {
                drop(state);
                reply(Ok(ProducerId(id)));
            }
            None => {
                state.waiting.push(reply);
                drop(state);
            }
        }
        if ask {
            let ids = self.clone();
            self.blocks.allocate(Box::new(move |block| ids.got(block)));
        }
    }

    /// The controller has answered.
    fn got(self: &Arc<Self>, block: Option<Range<i64>>) {
        let mut state = self.state.lock();
        state.asking = false;
        let has_failed = block.is_none();
        state.next = block;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for reply in waiting {
            match has_failed {
                // Every client asks again after this one.
                true => reply(Err(ErrorCode::CoordinatorLoadInProgress)),
                false => self.next(reply),
            }
        }
    }
}

impl State {
    fn take(&mut self) -> Option<i64> {
        if self.current.is_empty() {
            self.current = self.next.take()?;
            self.low = (self.current.end - self.current.start) / LOW_PART;
        }
        self.current.next()
    }

    fn wants_block(&self) -> bool {
        self.next.is_none() && self.current.end - self.current.start <= self.low
    }
}

impl std::fmt::Debug for ProducerIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProducerIds").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A controller that answers when told to.
    #[derive(Clone, Default)]
    struct Controller(Arc<Mutex<Vec<BlockReply>>>);

    impl ProducerIdBlocks for Controller {
        fn allocate(&self, reply: BlockReply) {
            self.0.lock().push(reply);
        }
    }

    impl Controller {
        fn give(&self, block: Option<Range<i64>>) {
            let reply = self.0.lock().remove(0);
            reply(block);
        }

        fn asked(&self) -> usize {
            self.0.lock().len()
        }
    }

    fn take(ids: &Arc<ProducerIds>) -> impl Fn() -> Option<Result<i64, ErrorCode>> {
        let (sender, receiver) = channel();
        ids.next(Box::new(move |id| sender.send(id.map(|id| id.0)).unwrap()));
        move || receiver.try_recv().ok()
    }

    #[test]
    fn ids_come_once_each_across_blocks_and_the_next_block_is_asked_for_in_time() {
        let controller = Controller::default();
        let ids = ProducerIds::new(Box::new(controller.clone()));
        let (first, second) = (take(&ids), take(&ids));
        assert_eq!((first(), second(), controller.asked()), (None, None, 1));
        controller.give(Some(1000..1020));
        assert_eq!((first(), second()), (Some(Ok(1000)), Some(Ok(1001))));
        for expected in 1002..1018 {
            assert_eq!((take(&ids)(), controller.asked()), (Some(Ok(expected)), 0));
        }
        assert_eq!((take(&ids)(), controller.asked()), (Some(Ok(1018)), 1));
        controller.give(Some(5000..5020));
        let rest: Vec<_> = (0..3).map(|_| take(&ids)().unwrap().unwrap()).collect();
        assert_eq!(rest, [1019, 5000, 5001]);
    }

    #[test]
    fn a_controller_that_gives_nothing_is_asked_again_with_the_next_request() {
        let controller = Controller::default();
        let ids = ProducerIds::new(Box::new(controller.clone()));
        let waiting = take(&ids);
        controller.give(None);
        assert_eq!(waiting(), Some(Err(ErrorCode::CoordinatorLoadInProgress)));
        let again = take(&ids);
        controller.give(Some(7..8));
        assert_eq!(again(), Some(Ok(7)));
    }
}
