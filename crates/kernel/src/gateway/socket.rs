//! One websocket to a kernel: how it is opened, and in which form its messages travel.

use cellist_output::wire::KERNEL_MESSAGE;
use hyper::header::{AUTHORIZATION, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::address::Gateway;
use super::frames::{Form, PARTS};
use super::meter::{Metered, Violation};
use super::rest::{Refused, Trouble};
use crate::stream::Stream;

/// A connection, and the form that its messages have.
pub(super) struct Socket {
    pub(super) stream: WebSocketStream<Metered<Stream>>,
    form: Form,
}

impl Socket {
    /// Connects to a kernel under a client's name, in the form that the server is known to speak.
    pub(super) async fn open(
        gateway: &Gateway,
        kernel: &str,
        session: &str,
        known: Option<Form>,
    ) -> Result<Socket, Trouble> {
        use tungstenite::error::{ProtocolError, SubProtocolError};
        let none = |error: &tungstenite::Error| {
            use tungstenite::Error::Protocol;
            let none = SubProtocolError::NoSubProtocol;
            matches!(error, Protocol(ProtocolError::SecWebSocketSubProtocolError(found)) if *found == none)
        };
        let form = known.unwrap_or(Form::Parts);
        match Socket::offer(gateway, kernel, session, form).await? {
            // A server that knows one form only does not choose.
            Err(error) if known.is_none() && none(&error) => {
                Socket::offer(gateway, kernel, session, Form::Json).await?.map_err(trouble_of)
            }
            offered => offered.map_err(trouble_of),
        }
    }

    /// The form that the server speaks.
    pub(super) fn form(&self) -> Form {
        self.form
    }

    async fn offer(
        gateway: &Gateway,
        kernel: &str,
        session: &str,
        form: Form,
    ) -> Result<Result<Socket, tungstenite::Error>, Trouble> {
        // A server may still be busy with a connection in the other form that came to nothing.
        let form_name = if form == Form::Json { "-json" } else { "" };
        let uri = gateway.uri(&format!("/api/kernels/{kernel}/channels?session_id={session}{form_name}"));
        let stream = Stream::open_trusting(&uri, gateway.bundle())
            .await
            .map_err(|error| Trouble::unreachable(&error))?;
        let garbled = |error: &dyn std::fmt::Display| Trouble::Garbled(error.to_string());
        let address = uri.to_string().replacen("http", "ws", 1);
        let mut request = address.into_client_request().map_err(|error| garbled(&error))?;
        let headers = request.headers_mut();
        if form == Form::Parts {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PARTS));
        }
        if let Some(authorization) = gateway.authorization() {
            let value = HeaderValue::try_from(authorization).map_err(|error| garbled(&error))?;
            headers.insert(AUTHORIZATION, value);
        }
        // The meter sees to it before; this is the library's own last word.
        let config = WebSocketConfig::default()
            .max_message_size(Some(KERNEL_MESSAGE))
            .max_frame_size(Some(KERNEL_MESSAGE))
            .max_write_buffer_size(KERNEL_MESSAGE);
        let opened = client_async_with_config(request, Metered::new(stream), Some(config)).await;
        Ok(opened.map(|(stream, _)| Socket { stream, form }))
    }
}

/// The message that ended the connection, if one did.
pub(super) fn violation(error: &tungstenite::Error) -> Option<String> {
    use tungstenite::Error::{Capacity, Io, Protocol, Utf8};
    use tungstenite::error::ProtocolError::{ResetWithoutClosingHandshake, SendAfterClosing};
    match error {
        Io(error) => error.get_ref()?.downcast_ref::<Violation>().map(ToString::to_string),
        Protocol(ResetWithoutClosingHandshake | SendAfterClosing) => None,
        Capacity(error) => Some(format!("too much ({error})")),
        Protocol(error) => Some(format!("no websocket's frame ({error})")),
        Utf8(error) => Some(format!("no text ({error})")),
        _ => None,
    }
}

/// Why a connection could not be opened.
pub(super) fn trouble_of(error: tungstenite::Error) -> Trouble {
    match error {
        tungstenite::Error::Http(answer) => {
            let body = answer.body().as_deref().unwrap_or_default();
            Trouble::Refused(Refused::new(answer.status(), body))
        }
        other => match violation(&other) {
            Some(frame) => Trouble::Forbidden(frame),
            None => Trouble::Unreachable(other.to_string()),
        },
    }
}
