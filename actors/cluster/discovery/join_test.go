package discovery

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckRefuses(t *testing.T) {
	long := strings.Repeat("a", 64)
	for entry, want := range map[string]string{
		"":                                     "the port is missing",
		"host":                                 "the port is missing; use HOST:PORT, dns:NAME:PORT or etcd://",
		"10.0.0.1":                             "the port is missing",
		"host:":                                `the port is ""; it must be between 1 and 65535`,
		"host:0":                               `the port is "0"`,
		"host:65536":                           `the port is "65536"`,
		"host:-1":                              `the port is "-1"`,
		"host:http":                            `the port is "http"`,
		":30000":                               `"" is not a host name or IP address`,
		"::1:30000":                            "put an IPv6 address in brackets",
		"[::1]":                                "put an IPv6 address in brackets",
		"[::1:30000":                           "put an IPv6 address in brackets",
		"0.0.0.0:30000":                        "0.0.0.0 is not the address of one host",
		"[::]:30000":                           ":: is not the address of one host",
		"[ff02::1]:30000":                      "ff02::1 is not the address of one host",
		"10.0.0.256:30000":                     `"10.0.0.256" is not a host name or IP address`,
		"10.0.0:30000":                         `"10.0.0" is not a host name or IP address`,
		"a b:30000":                            `"a b" is not a host name or IP address`,
		"a..b:30000":                           `"a..b" is not a host name`,
		"-a:30000":                             `"-a" is not a host name`,
		long + ":30000":                        `" is not a host name`,
		strings.Repeat("abc.", 64) + "x:1":     `" is not a host name`,
		"http://host:30000":                    "it is not an address",
		"https://host:30000/":                  "it is not an address",
		"host:30000/x":                         "it is not an address",
		"dns:gateways":                         "the port is missing",
		"dns:gateways:":                        `the port is ""`,
		"dns::30000":                           `"" is not a host name`,
		"dns:10.0.0.1:30000":                   "10.0.0.1 is an IP address and needs no lookup; write 10.0.0.1:30000",
		"dns:[::1]:30000":                      "::1 is an IP address and needs no lookup; write [::1]:30000",
		"etcd://":                              "the prefix of the keys is missing; append one, for example /troupe",
		"etcd://host:2379":                     "the prefix of the keys is missing",
		"etcd://host:2379/":                    "the prefix of the keys is missing",
		"etcd:///troupe":                       "the port is missing",
		"etcd://host/troupe":                   "the port is missing",
		"etcd://a:1,,b:1/troupe":               "the port is missing",
		"etcd://a:1,b:0/troupe":                `the port is "0"`,
		"etcd://host:2379/a//b":                "the prefix /a//b must consist of",
		"etcd://host:2379/a/":                  "the prefix /a/ must consist of",
		"etcd://host:2379/a:b":                 "the prefix /a:b must consist of",
		"etcd://host:2379/a b":                 "the prefix /a b must consist of",
		"etcd://user:secret@host:2379/troupe":  "etcd:// takes no user and password",
		"etcd://host:2379/troupe?tls=on":       "etcd:// takes no parameters",
		"etcd://host:2379?tls=on":              "etcd:// takes no parameters",
		"zk://host:2181/troupe":                "it is not an address",
		"etcds://host:2379/troupe":             "it is not an address",
		"dns:http://gateways.example.com:3000": `is not an address`,
	} {
		err := Check([]string{"10.0.0.1:30000", entry})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("cluster-join has the entry %q: ", entry)) {
			t.Errorf("%q: %v; want %q", entry, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	p, err := parse([]string{
		"10.0.0.1:30000", "[FD00::1]:030000", "[::ffff:10.0.0.2]:1", "Gateway-0.example.:65535", "[fe80::1%eth0]:1",
		"dns:_grpc.Gateways.svc:30000", "etcd://a:2379/troupe", "etcd://[::1]:1,B:2,10.0.0.3:3/x/y.z",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"10.0.0.1:30000", "[fd00::1]:30000", "10.0.0.2:1", "gateway-0.example.:65535", "[fe80::1%eth0]:1"}; !slices.Equal(p.fixed, want) {
		t.Errorf("fixed %q, want %q", p.fixed, want)
	}
	if want := []name{{"_grpc.gateways.svc", "30000"}}; !slices.Equal(p.names, want) {
		t.Errorf("names %v, want %v", p.names, want)
	}
	want := "[{[a:2379] /troupe} {[[::1]:1 b:2 10.0.0.3:3] /x/y.z}]"
	if got := fmt.Sprint(p.etcds); got != want {
		t.Errorf("etcd %s, want %s", got, want)
	}
}

// A flag or an environment variable is split at each comma, also between hosts of etcd.
func TestEntriesSplitAtCommas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.SampledFrom([]string{"h:1", "dns:n:2", "etcd://a:1/p", "etcd://a:1,b:2/p", "etcd://a:1,b:2,c:3/p/q"})
		entries := rapid.SliceOfN(entry, 1, 5).Draw(t, "entries")
		whole, err := parse(entries)
		if err != nil {
			t.Fatal(err)
		}
		split, err := parse(strings.Split(strings.Join(entries, ","), ","))
		if err != nil || fmt.Sprint(split) != fmt.Sprint(whole) {
			t.Fatalf("split %v, %v; whole %v", split, err, whole)
		}
	})
	// Without a prefix no host may be taken for a node.
	if err := Check([]string{"etcd://a:1", "b:2", "c:3"}); err == nil || !strings.Contains(err.Error(), `"etcd://a:1,b:2,c:3": the prefix`) {
		t.Errorf("error %v", err)
	}
}

// What is accepted can be dialled, and its canonical form is accepted and stays as it is.
func FuzzHostPort(f *testing.F) {
	for _, s := range []string{"a:1", "[::1]:1", "10.0.0.1:65535", "A.b.:080", "[fe80::1%eth0]:1", "[::ffff:1.2.3.4]:5", "a:b:c", "%:1", "[%]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = Check([]string{text, "dns:" + text, "etcd://" + text})
		address, err := hostPort(text)
		if err != nil {
			return
		}
		if again, err := hostPort(address); err != nil || again != address {
			t.Errorf("%q becomes %q, then %q, %v", text, address, again, err)
		}
		if _, err := net.LookupPort("tcp", address[strings.LastIndex(address, ":")+1:]); err != nil {
			t.Errorf("%q becomes %q: %v", text, address, err)
		}
	})
}
