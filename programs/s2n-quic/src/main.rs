//! A transfer by s2n-quic: `s2n-quic-transfer server FILE`, and `s2n-quic-transfer client ADDRESS BYTES FILE`.
//!
//! The client trusts the certificate that the server writes into the file.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use s2n_quic::client::Connect;
use s2n_quic::{Client, Connection, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
        _ => bail!(
            "usage: s2n-quic-transfer server FILE | s2n-quic-transfer client ADDRESS BYTES FILE"
        ),
    }
}

async fn server(file: &str) -> Result<()> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    fs::write(file, made.cert.pem())?;
    let mut server = Server::builder()
        .with_tls((made.cert.pem().as_str(), made.signing_key.serialize_pem().as_str()))?
        .with_io(SocketAddr::new(ANY.parse()?, PORT))?
        .start()?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(answer(connection));
    }
    Ok(())
}

/// Answers a stream with as many bytes as its first eight ask for.
async fn answer(mut connection: Connection) -> Result<()> {
    if let Some(mut stream) = connection.accept_bidirectional_stream().await? {
        let (mut left, zeros) = (stream.read_u64().await?, [0; 65536]);
        while left > 0 {
            left -= stream.write(&zeros[..left.min(65536) as usize]).await? as u64;
        }
        stream.close().await?;
    }
    Ok(())
}

async fn client(address: &str, size: u64, file: &str) -> Result<()> {
    let begin = Instant::now();
    let client = Client::builder()
        .with_tls(Path::new(file))?
        .with_io(SocketAddr::new(ANY.parse()?, 0))?
        .start()?;
    let server = Connect::new(SocketAddr::new(address.parse()?, PORT)).with_server_name(NAME);
    let mut connection = client.connect(server).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.write_u64(size).await?;
    stream.finish()?;
    let mut received = 0;
    while let Some(chunk) = stream.receive().await? {
        received += chunk.len() as u64;
    }
    ensure!(received == size, "{received} bytes, expected {size}");
    let seconds = begin.elapsed().as_secs_f64();
    println!("s2n-quic: {size} bytes in {seconds:.3} s, {:.2} Mb/s", size as f64 * 8e-6 / seconds);
    connection.close(0u32.into());
    Ok(())
}
