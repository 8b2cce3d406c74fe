//! A transfer by quinn: `quinn-transfer server FILE`, and `quinn-transfer client ADDRESS BYTES FILE`.
//!
//! The client trusts the certificate that the server writes into the file.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Endpoint, Incoming, ServerConfig};

const ANY: &str = "0.0.0.0";
const PORT: u16 = 4433;
const NAME: &str = "transfer";

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", file] => server(file).await,
        ["client", address, bytes, file] => client(address, bytes.parse()?, file).await,
        _ => bail!("usage: quinn-transfer server FILE | quinn-transfer client ADDRESS BYTES FILE"),
    }
}

async fn server(file: &str) -> Result<()> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    fs::write(file, made.cert.der())?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let endpoint = Endpoint::server(config, SocketAddr::new(ANY.parse()?, PORT))?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(answer(incoming));
    }
    Ok(())
}

/// Answers a stream with as many bytes as its first eight ask for.
async fn answer(incoming: Incoming) -> Result<()> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut size = [0; 8];
    receive.read_exact(&mut size).await?;
    let (mut left, zeros) = (u64::from_be_bytes(size), [0; 65536]);
    while left > 0 {
        left -= send.write(&zeros[..left.min(65536) as usize]).await? as u64;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn client(address: &str, size: u64, file: &str) -> Result<()> {
    let mut roots = RootCertStore::empty();
    roots.add(fs::read(file)?.into())?;
    let begin = Instant::now();
    let mut endpoint = Endpoint::client(SocketAddr::new(ANY.parse()?, 0))?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    let connection = endpoint.connect(SocketAddr::new(address.parse()?, PORT), NAME)?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&size.to_be_bytes()).await?;
    let mut received = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
        received += chunk.bytes.len() as u64;
    }
    ensure!(received == size, "{received} bytes, expected {size}");
    let seconds = begin.elapsed().as_secs_f64();
    println!("quinn: {size} bytes in {seconds:.3} s, {:.2} Mb/s", size as f64 * 8e-6 / seconds);
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}
