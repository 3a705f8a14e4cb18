//! Rows of the commands about the connection itself.

use crate::redis::connection::{client, client_kill, client_list, login, session};
use crate::redis::row::{Group, Row, category, container, flag, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "auth",
        -2,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        login::auth,
    )
    .syntax("[username] password")
    .categories(category::CONNECTION)
    .about(Group::Connection, "1.0.0", "O(1)", "Authenticates the connection."),
    row(
        "hello",
        -1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY,
        login::hello,
    )
    .syntax("[protover [AUTH (username password)] [SETNAME clientname]]")
    .categories(category::CONNECTION)
    .about(
        Group::Connection,
        "6.0.0",
        "O(1)",
        "Chooses the protocol version, authenticates and names the connection.",
    ),
    row("ping", -1, flag::FAST | flag::IN_SUBSCRIBED, session::ping)
        .syntax("[message]")
        .categories(category::CONNECTION)
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"])
        .about(Group::Connection, "1.0.0", "O(1)", "Answers PONG or the argument."),
    row("echo", 2, flag::LOADING | flag::STALE | flag::FAST, session::echo)
        .syntax("message")
        .categories(category::CONNECTION)
        .about(Group::Connection, "1.0.0", "O(1)", "Answers with the argument."),
    row("select", 2, flag::LOADING | flag::STALE | flag::FAST, session::select)
        .syntax("index")
        .categories(category::CONNECTION)
        .about(Group::Connection, "1.0.0", "O(1)", "Chooses the connection's database."),
    row(
        "quit",
        -1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY
            | flag::NOT_QUEUED
            | flag::IN_SUBSCRIBED,
        session::quit,
    )
    .categories(category::CONNECTION)
    .about(Group::Connection, "1.0.0", "O(1)", "Answers OK and closes the connection."),
    row(
        "reset",
        1,
        flag::NOSCRIPT
            | flag::LOADING
            | flag::STALE
            | flag::FAST
            | flag::NO_AUTH
            | flag::ALLOW_BUSY
            | flag::NOT_QUEUED
            | flag::IN_SUBSCRIBED,
        session::reset,
    )
    .categories(category::CONNECTION)
    .about(
        Group::Connection,
        "6.2.0",
        "O(1)",
        "Puts the connection back as it was when it was accepted.",
    ),
    row("client", -2, flag::CONTAINER, container).about(
        Group::Connection,
        "2.4.0",
        "Depends on the subcommand",
        "Everything about connections.",
    ),
    row("client|getname", 2, flag::NOSCRIPT | flag::LOADING | flag::STALE, client::getname)
        .categories(category::CONNECTION)
        .about(Group::Connection, "2.6.9", "O(1)", "The name of this connection."),
    row("client|help", 2, flag::LOADING | flag::STALE, client::help)
        .categories(category::CONNECTION)
        .about(Group::Connection, "5.0.0", "O(1)", "The subcommands of CLIENT."),
    row("client|id", 2, flag::NOSCRIPT | flag::LOADING | flag::STALE, client::id)
        .categories(category::CONNECTION)
        .about(Group::Connection, "5.0.0", "O(1)", "The number of this connection."),
    row("client|info", 2, flag::NOSCRIPT | flag::LOADING | flag::STALE, client_list::info)
        .categories(category::CONNECTION)
        .tips(&["nondeterministic_output"])
        .about(Group::Connection, "6.2.0", "O(1)", "This connection in one line."),
    row(
        "client|kill",
        -3,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client_kill::kill,
    )
    .syntax(
        "(ip:port|([ID client-id]|[TYPE (NORMAL|MASTER|SLAVE|REPLICA|PUBSUB)]|\
         [USER username]|[ADDR ip:port]|[LADDR ip:port]|[SKIPME yes/no]) [...])",
    )
    .categories(category::CONNECTION)
    .about(
        Group::Connection,
        "2.4.0",
        "O(N) with N the number of connections",
        "Closes connections chosen by address, id, type or user.",
    ),
    row(
        "client|list",
        -2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client_list::list,
    )
    .syntax("[TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID client-id [client-id ...]]")
    .categories(category::CONNECTION)
    .tips(&["nondeterministic_output"])
    .about(
        Group::Connection,
        "2.4.0",
        "O(N) with N the number of connections",
        "One line for each connection.",
    ),
    row(
        "client|no-evict",
        3,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client::no_evict,
    )
    .syntax("(ON|OFF)")
    .categories(category::CONNECTION)
    .about(
        Group::Connection,
        "7.0.0",
        "O(1)",
        "Protects this connection when buffers are short of memory.",
    ),
    row(
        "client|pause",
        -3,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client::pause,
    )
    .syntax("timeout{integer} [WRITE|ALL]")
    .categories(category::CONNECTION)
    .about(
        Group::Connection,
        "2.9.50",
        "O(1)",
        "Holds back the commands of all connections, or only writes.",
    ),
    row("client|reply", 3, flag::NOSCRIPT | flag::LOADING | flag::STALE, client::reply)
        .syntax("(ON|OFF|SKIP)")
        .categories(category::CONNECTION)
        .about(Group::Connection, "3.2.0", "O(1)", "Turns replies to this connection off and on."),
    row("client|setinfo", 4, flag::NOSCRIPT | flag::LOADING | flag::STALE, client::setinfo)
        .syntax("(LIB-NAME libname|LIB-VER libver)")
        .categories(category::CONNECTION)
        .about(
            Group::Connection,
            "7.2.0",
            "O(1)",
            "Tells the name and the version of the client's library.",
        ),
    row("client|setname", 3, flag::NOSCRIPT | flag::LOADING | flag::STALE, client::setname)
        .syntax("connection-name")
        .categories(category::CONNECTION)
        .about(Group::Connection, "2.6.9", "O(1)", "Names this connection."),
    row(
        "client|unpause",
        2,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client::unpause,
    )
    .categories(category::CONNECTION)
    .about(Group::Connection, "6.2.0", "O(1)", "Ends a pause."),
    row(
        "client|unblock",
        -3,
        flag::ADMIN | flag::NOSCRIPT | flag::LOADING | flag::STALE,
        client::unblock,
    )
    .syntax("client-id [TIMEOUT|ERROR]")
    .categories(category::CONNECTION)
    .about(Group::Connection, "5.0.0", "O(log N)", "Ends the wait of a client for a list."),
];
