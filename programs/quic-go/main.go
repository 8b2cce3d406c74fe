// A transfer by quic-go: `quic-go server`, and `quic-go client ADDRESS BYTES`.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const port = ":4433"

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "server":
		err = server()
	case len(os.Args) == 4 && os.Args[1] == "client":
		err = client(os.Args[2]+port, os.Args[3])
	default:
		err = fmt.Errorf("usage: quic-go server | quic-go client ADDRESS BYTES")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server answers each stream with as many bytes as its first eight ask for.
func server() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr(port, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		NextProtos:   []string{"bytes"},
	}, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			stream, err := connection.AcceptStream(context.Background())
			if err != nil {
				return
			}
			var size uint64
			if binary.Read(stream, binary.BigEndian, &size) == nil {
				io.CopyN(stream, zeros{}, int64(size))
				stream.Close()
			}
		}()
	}
}

type zeros struct{}

func (zeros) Read(buffer []byte) (int, error) {
	clear(buffer)
	return len(buffer), nil
}

func client(address, bytes string) error {
	size, err := strconv.ParseUint(bytes, 10, 63)
	if err != nil {
		return err
	}
	begin := time.Now()
	connection, err := quic.DialAddr(context.Background(), address, &tls.Config{
		InsecureSkipVerify: true,
		NextProtos:         []string{"bytes"},
	}, nil)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	if err := binary.Write(stream, binary.BigEndian, size); err != nil {
		return err
	}
	received, err := io.Copy(io.Discard, stream)
	if err != nil {
		return err
	}
	if uint64(received) != size {
		return fmt.Errorf("%d bytes, expected %d", received, size)
	}
	took := time.Since(begin).Seconds()
	fmt.Printf("quic-go: %d bytes in %.3f s, %.2f Mb/s\n", size, took, float64(size)*8e-6/took)
	return connection.CloseWithError(0, "")
}
