//! `-Z` and `-o ssl_*`: TLS listeners.
//!
//! What OpenSSL can and rustls cannot (TLS before 1.2, engines, the kernel's TLS) is said to be so.

use super::Refused;
use super::options::Options;
use dolium_server::tls::Verify;

/// Modes of `ssl_verify_mode`: whom to believe, and OpenSSL's bits, which `stats settings` shows.
const VERIFY: [(Verify, u32); 4] =
    [(Verify::No, 0), (Verify::Offered, 1), (Verify::Required, 3), (Verify::Required, 7)];
const VERSIONS: [&str; 4] = ["tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3"];
/// `ssl_keyformat`, as OpenSSL numbers them.
const PEM: u32 = 1;
const DER: u32 = 2;
/// Sessions that are remembered: as many as OpenSSL remembers unless told otherwise.
const SESSIONS: usize = 20 << 10;

pub(super) fn take(options: &mut Options, name: &str, value: Option<&str>) -> Result<(), Refused> {
    let missing = || Refused::plain(format!("Missing {name} argument"));
    let wanted = || value.ok_or_else(missing);
    let whole = || {
        wanted()?
            .parse::<u32>()
            .map_err(|_| Refused::plain(format!("could not parse argument to {name}")))
    };
    let invalid = || Refused::plain(format!("Invalid {name}. Use help to see valid options."));
    let shown = &mut options.setup.fixed.tls;
    let tls = &mut options.tls;
    match name {
        "ssl_chain_cert" => {
            shown.chain = Some(wanted()?.into());
            tls.chain = wanted()?.into();
        }
        "ssl_key" => {
            shown.key = Some(wanted()?.into());
            tls.key = wanted()?.into();
        }
        "ssl_verify_mode" => {
            let mode = VERIFY.get(whole()? as usize).ok_or_else(invalid)?;
            (tls.verify, shown.verify_mode) = *mode;
        }
        "ssl_keyformat" => {
            shown.key_format = whole()?;
            if ![PEM, DER].contains(&shown.key_format) {
                return Err(Refused::usage(
                    "-o ssl_keyformat: keys are read as PEM (1) or DER (2)",
                ));
            }
            tls.key_is_der = shown.key_format == DER;
        }
        "ssl_ciphers" => {
            shown.ciphers = Some(wanted()?.into());
            tls.ciphers = wanted()?.into();
        }
        "ssl_ca_cert" => {
            shown.authority = Some(wanted()?.into());
            tls.authorities = vec![wanted()?.into()];
        }
        "ssl_wbuf_size" => {
            shown.buffer_bytes = (whole()?.max(1) as usize) << 10;
            tls.buffer_bytes = shown.buffer_bytes;
        }
        "ssl_session_cache" => {
            shown.session_cache = true;
            tls.sessions = SESSIONS;
        }
        "ssl_kernel_tls" => {
            options.notice("-o ssl_kernel_tls: records are encrypted in the process");
        }
        "ssl_min_version" => {
            let version = whole()? as usize;
            shown.min_version = VERSIONS.get(version).ok_or_else(invalid)?;
            tls.has_12 = version < 3;
            if version < 2 {
                options.notice("-o ssl_min_version: TLS 1.2 is the oldest that is spoken");
            }
        }
        _ => return Err(Refused::plain(format!("Illegal suboption \"{name}\""))),
    }
    Ok(())
}

/// What only all options together can say.
pub(super) fn check(options: &mut Options) -> Result<(), Refused> {
    if !options.setup.fixed.tls.enabled {
        return match options.plain_is_named {
            true => Err(Refused::usage("'notls' option is valid only when SSL is enabled")),
            false => Ok(()),
        };
    }
    if options.setup.tcp_port == 0 {
        return Err(Refused::usage("ERROR: You cannot enable SSL without a TCP port."));
    }
    if options.tls.verify == Verify::Offered && options.tls.authorities.is_empty() {
        // Without an authority no certificate would be good, and none is asked for.
        options.tls.verify = Verify::No;
    }
    options.setup.tls = Some(options.tls.clone());
    Ok(())
}
