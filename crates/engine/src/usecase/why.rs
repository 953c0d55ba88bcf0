//! Why something is as it is: what is seen of it now, and the plan that follows. Nothing is written.

use model::ObjectKey;

use crate::{Engine, Result, observe};

impl Engine {
    /// What is seen of a variant and what would be done about it; `None` if it is gone.
    ///
    /// # Errors
    /// Git or the cluster cannot be read now.
    pub async fn why_variant(&self, key: &ObjectKey) -> Result<Option<String>> {
        let observed = observe::variant(self, observe::Sink::dropped(), key).await?;
        Ok(observed.map(|o| {
            let plan = plan::variant::decide(&o);
            plan::variant::seen(&o) + &plan::variant::explain(&plan)
        }))
    }

    /// What would be done about a set; `None` if it is gone.
    ///
    /// # Errors
    /// The process is on its way out.
    pub async fn why_set(&self, key: &ObjectKey) -> Result<Option<String>> {
        let Some(observed) = observe::set(self, observe::Sink::dropped(), key).await? else {
            return Ok(None);
        };
        // Rendering takes CPU, and expressions want the pool's stack.
        let cpu = self.inner.options.cpu.clone();
        let text = cpu.run(move || {
            let plan = plan::set::decide(&observed);
            plan::set::waits(&observed, &plan) + &plan::set::explain(&plan)
        });
        Ok(Some(text.await?))
    }
}
