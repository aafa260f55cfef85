//! Draws bars as SVG that stands inside a page: no script, no font and no file of its own. Colours are
//! fixed names that the page's style sheet may replace, so that one drawing serves light and dark.

use std::error::Error;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::story::Plot;

/// Colours as they stand in the SVG; the page's style sheet names them too.
pub(crate) const OURS: RGBColor = RGBColor(0x2a, 0x78, 0xb5);
pub(crate) const THEIRS: RGBColor = RGBColor(0xc4, 0x5c, 0x1a);
pub(crate) const INK: RGBColor = RGBColor(0x22, 0x22, 0x23);
pub(crate) const LINE: RGBColor = RGBColor(0xd8, 0xd8, 0xd9);

/// Height of one bar with its label above it, and of what stands below all.
const ROW: u32 = 44;
const BELOW: u32 = 52;
const MARGIN: u32 = 6;
/// Pixels between a bar and its number.
const GAP: i32 = 6;
/// The library writes sizes that are smaller by a quarter.
const FONT: f64 = 17.0;

/// Draws a plot of this width. Fails only if the library does.
pub(crate) fn svg(plot: &Plot, width: u32) -> Result<String, Box<dyn Error>> {
    let rows = u32::try_from(plot.bars.len())?;
    let mut svg = String::new();
    let size = (width, rows * ROW + BELOW + 2 * MARGIN);
    let most = plot.bars.iter().map(|bar| bar.value).fold(1e-9, f64::max);
    // Room for the number behind the longest bar: a share of the width, which is narrow on a phone.
    let room = if width < 500 { 0.3 } else { 0.12 };
    if plot.ratios {
        let least = plot.bars.iter().map(|bar| bar.value).fold(1.0, f64::min);
        let (low, high) = (least.min(0.8) / 1.25, most.max(1.25));
        let high = low * (high / low).powf(1.0 / (1.0 - room));
        draw(&mut svg, size, (low..high).log_scale(), plot, 1.0)?;
    } else {
        draw(&mut svg, size, 0.0..most / (1.0 - room), plot, 0.0)?;
    }
    Ok(svg)
}

fn draw<X>(svg: &mut String, size: (u32, u32), axis: X, plot: &Plot, from: f64) -> Result<(), Box<dyn Error>>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    let rows = f64::from(u32::try_from(plot.bars.len())?);
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    let text = |anchor| ("sans-serif", FONT).into_font().color(&INK).pos(anchor);
    let left = Pos::new(HPos::Left, VPos::Center);
    let mut chart = ChartBuilder::on(&area)
        .margin(MARGIN)
        .x_label_area_size(BELOW)
        .build_cartesian_2d(axis, 0.0..rows.max(1.0))?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(if size.0 < 500 { 4 } else { 8 })
        .x_label_formatter(&|value| tick(*value))
        .x_desc(plot.axis)
        .light_line_style(TRANSPARENT)
        .bold_line_style(LINE)
        .axis_style(LINE)
        .label_style(("sans-serif", FONT).into_font().color(&INK))
        .draw()?;
    if plot.ratios {
        let one = [(1.0, 0.0), (1.0, rows)];
        chart.draw_series(std::iter::once(PathElement::new(one, INK.stroke_width(1))))?;
    }
    let mut top = rows;
    for bar in &plot.bars {
        let color = if bar.ours { OURS } else { THEIRS };
        let (low, high) = (top - 0.92, top - 0.52);
        let ends = if bar.value < from {
            [(bar.value, low), (from, high)]
        } else {
            [(from, low), (bar.value, high)]
        };
        chart.draw_series(std::iter::once(Rectangle::new(ends, color.filled())))?;
        let start = chart.as_coord_spec().get_x_range().start;
        let label = Text::new(bar.label.clone(), (start, top - 0.25), text(left));
        chart.draw_series(std::iter::once(label))?;
        let place = (bar.value.max(from), f64::midpoint(low, high));
        let value = EmptyElement::at(place) + Text::new(bar.text.clone(), (GAP, 0), text(left));
        chart.draw_series(std::iter::once(value))?;
        top -= 1.0;
    }
    area.present()?;
    Ok(())
}

fn tick(value: f64) -> String {
    if value >= 1.0 || value == 0.0 { format!("{value:.0}") } else { format!("{value}") }
}
