//! All or nothing: steps are undone in reverse, unless all of them succeeded.

/// Steps to take back.
#[derive(Default)]
pub(crate) struct Undo<'a>(Vec<Box<dyn FnOnce() + 'a>>);

impl<'a> Undo<'a> {
    /// `step` undoes the last step.
    pub fn with(&mut self, step: impl FnOnce() + 'a) {
        self.0.push(Box::new(step));
    }

    /// Nothing is to be taken back any more.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        while let Some(step) = self.0.pop() {
            step();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn what_is_not_kept_is_undone_in_reverse() {
        let undone = RefCell::new(Vec::new());
        for kept in [false, true] {
            let mut undo = Undo::default();
            for step in [1, 2, 3] {
                let undone = &undone;
                undo.with(move || undone.borrow_mut().push(step));
            }
            if kept {
                undo.keep();
            }
        }
        assert_eq!(*undone.borrow(), [3, 2, 1]);
    }
}
