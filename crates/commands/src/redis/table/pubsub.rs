//! Rows of publish and subscribe.

use crate::redis::pubsub::{publish, subscribe};
use crate::redis::row::{Group, Row, container, flag, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "subscribe",
        -2,
        flag::PUBSUB | flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::IN_SUBSCRIBED,
        subscribe::subscribe,
    )
    .syntax("channel [channel ...]")
    .about(
        Group::PubSub,
        "2.0.0",
        "O(N) with N the number of channels",
        "Listens to channels.",
    ),
    row(
        "unsubscribe",
        -1,
        flag::PUBSUB | flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::IN_SUBSCRIBED,
        subscribe::unsubscribe,
    )
    .syntax("[channel [channel ...]]")
    .about(
        Group::PubSub,
        "2.0.0",
        "O(N) with N the number of channels",
        "Stops listening to channels.",
    ),
    row(
        "psubscribe",
        -2,
        flag::PUBSUB | flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::IN_SUBSCRIBED,
        subscribe::psubscribe,
    )
    .syntax("pattern{block} [pattern{block} ...]")
    .about(
        Group::PubSub,
        "2.0.0",
        "O(N) with N the number of patterns",
        "Listens to the channels that match patterns.",
    ),
    row(
        "punsubscribe",
        -1,
        flag::PUBSUB | flag::NOSCRIPT | flag::LOADING | flag::STALE | flag::IN_SUBSCRIBED,
        subscribe::punsubscribe,
    )
    .syntax("[pattern [pattern ...]]")
    .about(
        Group::PubSub,
        "2.0.0",
        "O(N) with N the number of patterns",
        "Stops listening to patterns.",
    ),
    row(
        "publish",
        3,
        flag::PUBSUB | flag::LOADING | flag::STALE | flag::FAST | flag::MAY_REPLICATE,
        publish::publish,
    )
    .syntax("channel message")
    .about(
        Group::PubSub,
        "2.0.0",
        "O(N+M) with N the subscribers of the channel and M all patterns",
        "Sends a message to a channel.",
    ),
    row("pubsub", -2, flag::CONTAINER, container).about(
        Group::PubSub,
        "2.8.0",
        "Depends on the subcommand",
        "What is being listened to.",
    ),
    row("pubsub|channels", -2, flag::PUBSUB | flag::LOADING | flag::STALE, publish::channels)
        .syntax("[pattern]")
        .about(
            Group::PubSub,
            "2.8.0",
            "O(N) with N the number of active channels",
            "The channels with at least one subscriber.",
        ),
    row("pubsub|help", 2, flag::LOADING | flag::STALE, publish::help).about(
        Group::PubSub,
        "6.2.0",
        "O(1)",
        "The subcommands of PUBSUB.",
    ),
    row("pubsub|numpat", 2, flag::PUBSUB | flag::LOADING | flag::STALE, publish::numpat).about(
        Group::PubSub,
        "2.8.0",
        "O(1)",
        "The number of patterns that are listened to.",
    ),
    row("pubsub|numsub", -2, flag::PUBSUB | flag::LOADING | flag::STALE, publish::numsub)
        .syntax("[channel [channel ...]]")
        .about(
            Group::PubSub,
            "2.8.0",
            "O(N) with N the number of channels",
            "The number of subscribers of each channel.",
        ),
];
