//! Medians, because one bad moment of the machine must not move a figure.

/// The middle value; not a number of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Mean of the middle half: nearly as blind to bad moments as the median, and steadier where there
/// are many values. Not a number of nothing.
pub fn midmean(values: impl IntoIterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// Distance of the largest from the smallest value, as a share of the median.
pub fn spread(values: impl IntoIterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    match (sorted.first(), sorted.last()) {
        (Some(least), Some(most)) => (most - least) / median(sorted.iter().copied()),
        _ => f64::NAN,
    }
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_does_not_move_the_median() {
        assert_eq!(median([3.0, 1.0, 100.0, 2.0, 2.5]), 2.5);
        assert_eq!(median([1.0, 2.0]), 1.5);
        assert!(median([]).is_nan());
        assert_eq!(midmean([3.0, 1.0, 100.0, 2.0]), 2.5);
        assert!(midmean([]).is_nan());
        assert_eq!(spread([9.0, 10.0, 12.0]), 0.3);
    }
}
