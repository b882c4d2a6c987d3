//go:build linux

package discovery

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// server is a real etcd on free ports of the loopback interface.
type server struct {
	t       *testing.T
	args    []string
	address string
	client  *clientv3.Client
	process *exec.Cmd
	output  locked.Buffer
}

// startEtcd needs Debian's etcd-server. With TROUPE_ETCD=1, as in .ci/run, a machine
// without it fails the test.
func startEtcd(t *testing.T) *server {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		if os.Getenv("TROUPE_ETCD") == "1" {
			t.Fatal("TROUPE_ETCD is 1 and there is no etcd in PATH; install etcd-server")
		}
		t.Skip("there is no etcd in PATH; install etcd-server to run this test")
	}
	dir, peer := t.TempDir(), freeAddress(t)
	s := &server{t: t, address: freeAddress(t)}
	s.args = []string{
		"--name=a", "--data-dir=" + filepath.Join(dir, "data"), "--initial-cluster=a=http://" + peer,
		"--listen-peer-urls=http://" + peer, "--initial-advertise-peer-urls=http://" + peer,
		"--listen-client-urls=http://" + s.address, "--advertise-client-urls=http://" + s.address,
		// The shortest lease is one and a half times the time of an election.
		"--heartbeat-interval=50", "--election-timeout=500",
	}
	var err error
	if s.client, err = clientv3.New(clientv3.Config{Endpoints: []string{s.address}, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Close()
		s.kill()
		if t.Failed() && testing.Verbose() {
			t.Logf("etcd wrote:\n%s", s.output.String())
		}
	})
	s.start()
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start returns when etcd answers.
func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command("etcd", s.args...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the test crashes
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.answers()
}

func (s *server) answers() {
	s.t.Helper()
	for begin := time.Now(); ; {
		if err := s.try(func(ctx context.Context) error { _, err := s.client.Get(ctx, "/"); return err }); err == nil {
			return
		} else if time.Since(begin) > time.Minute {
			s.t.Fatalf("etcd does not answer: %v", err)
		}
	}
}

func (s *server) try(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return call(ctx)
}

// kill is a crash; the data stay.
func (s *server) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) put(key, value string) {
	s.t.Helper()
	if err := s.try(func(ctx context.Context) error { _, err := s.client.Put(ctx, key, value); return err }); err != nil {
		s.t.Fatal(err)
	}
}

// keys counts the keys below a prefix.
func (s *server) keys(prefix string) int64 {
	s.t.Helper()
	var n int64
	err := s.try(func(ctx context.Context) error {
		got, err := s.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil {
			n = got.Count
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
