//! What `/api/v1/facets` answers: a page without its hits.

use afterthought::search::{Count, Diagnosis, Facets, FacetsMore, IndexView};
use afterthought::{Confidence, Page, Warning};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Counted {
    schema_version: u32,
    query: String,
    total: Count,
    total_messages: Option<Count>,
    confidence: Confidence,
    facets: Option<Facets>,
    facets_more: Option<FacetsMore>,
    diagnosis: Option<Diagnosis>,
    index: IndexView,
    warnings: Vec<Warning>,
    elapsed_ms: f64,
    sync_ms: f64,
}

impl From<Page> for Counted {
    fn from(page: Page) -> Self {
        Self {
            schema_version: 1,
            query: page.query,
            total: page.total,
            total_messages: page.total_messages,
            confidence: page.confidence,
            facets: page.facets,
            facets_more: page.facets_more,
            diagnosis: page.diagnosis,
            index: page.index,
            warnings: page.warnings,
            elapsed_ms: page.elapsed_ms,
            sync_ms: page.sync_ms,
        }
    }
}
