//! LOLWUT: a row of jars, as different as potters made them.

use crate::context::Context;
use crate::redis::row::{Call, Outcome};
use crate::redis::{DOLIUM_VERSION, REDIS_VERSION};

const JARS: usize = 5;
const JAR_COLUMNS: usize = 14;

pub fn lolwut(ctx: &mut Context<'_>, _: &Call<'_>) -> Outcome {
    let mut seed = ctx.host.random();
    let jars: Vec<Vec<String>> = (0..JARS)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            jar(seed >> 33)
        })
        .collect();
    let height = jars.iter().map(Vec::len).max().unwrap_or_default();
    let mut picture = String::new();
    for line in 0..height {
        let row: String = jars
            .iter()
            .map(|jar| {
                // All stand on the same floor.
                let above = height - jar.len();
                let line = line.checked_sub(above).map_or("", |line| jar[line].as_str());
                format!("{line:^JAR_COLUMNS$}")
            })
            .collect();
        picture.push_str(row.trim_end());
        picture.push('\n');
    }
    picture.push_str(&"~".repeat(JARS * JAR_COLUMNS));
    picture.push_str(&format!(
        "\nOne store room, one memory. Dolium {DOLIUM_VERSION}, Redis ver. {REDIS_VERSION}\n"
    ));
    ctx.reply().verbatim(b"txt", picture.as_bytes());
    Ok(())
}

/// A jar whose belly, height, pattern and filling come from the bits of `random`.
fn jar(random: u64) -> Vec<String> {
    let belly = 4 + (random & 3) as usize * 2;
    let rows = 3 + (random >> 2 & 3) as usize;
    let band = [".", "=", "x", "~"][(random >> 4 & 3) as usize].repeat(belly);
    let filled_from = (random >> 6) as usize % (rows + 1);
    let mouth = belly - 2;
    let mut lines = vec![format!("({})", "_".repeat(mouth)), format!("/{}\\", " ".repeat(mouth))];
    for row in 0..rows {
        let inside = if row == rows / 2 {
            band.clone()
        } else if row >= filled_from {
            ":".repeat(belly)
        } else {
            " ".repeat(belly)
        };
        lines.push(format!("|{inside}|"));
    }
    lines.push(format!("\\{}/", "_".repeat(mouth)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jar_fits_its_place() {
        for random in 0..4096 {
            let jar = jar(random);
            assert!(jar.len() >= 6 && jar.iter().all(|line| line.len() <= JAR_COLUMNS), "{random}");
        }
    }
}
