package discovery

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// peers is the setting cluster-join, parsed.
type peers struct {
	fixed []string // host:port
	names []name
	etcds []etcdAt
}

// name is dns:NAME:PORT.
type name struct{ host, port string }

// etcdAt is etcd://HOST:PORT,HOST:PORT/PREFIX.
type etcdAt struct {
	endpoints []string // host:port
	prefix    string   // begins with a slash and does not end with one
}

const forms = "use HOST:PORT, dns:NAME:PORT or etcd://HOST:PORT,HOST:PORT/PREFIX"

// Check parses the entries of cluster-join without any IO. Start fails with the same error.
func Check(join []string) error {
	_, err := parse(join)
	return err
}

func parse(join []string) (peers, error) {
	var p peers
	for _, entry := range whole(join) {
		if err := p.add(entry); err != nil {
			return peers{}, fmt.Errorf("cluster-join has the entry %q: %w", entry, err)
		}
	}
	return p, nil
}

// whole puts an etcd entry together again. Flags and environment variables separate entries
// by commas, as etcd:// does its hosts, and the prefix ends it.
func whole(join []string) (entries []string) {
	open := false
	for _, part := range join {
		if open {
			entries[len(entries)-1] += "," + part
		} else {
			entries = append(entries, part)
		}
		hosts, isEtcd := strings.CutPrefix(entries[len(entries)-1], "etcd://")
		open = isEtcd && !strings.ContainsAny(hosts, "/?")
	}
	return entries
}

func (p *peers) add(entry string) error {
	if rest, ok := strings.CutPrefix(entry, "dns:"); ok {
		n, err := parseName(rest)
		p.names = append(p.names, n)
		return err
	}
	if rest, ok := strings.CutPrefix(entry, "etcd://"); ok {
		e, err := parseEtcd(rest)
		p.etcds = append(p.etcds, e)
		return err
	}
	if strings.Contains(entry, "/") {
		return fmt.Errorf("it is not an address; %s", forms)
	}
	address, err := hostPort(entry)
	p.fixed = append(p.fixed, address)
	return err
}

func parseName(text string) (name, error) {
	address, err := hostPort(text)
	if err != nil {
		return name{}, err
	}
	host, port, _ := net.SplitHostPort(address)
	if _, err := netip.ParseAddr(host); err == nil {
		return name{}, fmt.Errorf("%s is an IP address and needs no lookup; write %s", host, address)
	}
	return name{host, port}, nil
}

func parseEtcd(text string) (etcdAt, error) {
	text, _, hasQuery := strings.Cut(text, "?")
	if hasQuery {
		return etcdAt{}, fmt.Errorf("etcd:// takes no parameters; remove the text from the question mark on")
	}
	hosts, prefix, _ := strings.Cut(text, "/")
	if strings.Contains(hosts, "@") {
		return etcdAt{}, fmt.Errorf("etcd:// takes no user and password; remove the text before the @")
	}
	e := etcdAt{prefix: "/" + prefix}
	if err := checkPrefix(prefix); err != nil {
		return etcdAt{}, err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := hostPort(host)
		if err != nil {
			return etcdAt{}, err
		}
		e.endpoints = append(e.endpoints, address)
	}
	return e, nil
}

// checkPrefix allows no character that means something in a key of ours (registry.go).
func checkPrefix(prefix string) error {
	if prefix == "" {
		return fmt.Errorf("the prefix of the keys is missing; append one, for example /troupe")
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return !isWord(r) && r != '.' }) {
			return fmt.Errorf("the prefix /%s must consist of letters, digits, dots, hyphens and underscores, with single slashes between them", prefix)
		}
	}
	return nil
}

// hostPort checks an address that can be dialled and gives its canonical form, so that equal
// addresses are equal strings.
func hostPort(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if !strings.Contains(text, ":") {
			return "", fmt.Errorf("the port is missing; %s", forms)
		}
		return "", fmt.Errorf("it is not an address; %s, and put an IPv6 address in brackets", forms)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("the port is %q; it must be between 1 and 65535", port)
	}
	port = strconv.FormatUint(n, 10)
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip = ip.Unmap(); ip.IsUnspecified() || ip.IsMulticast() {
			return "", fmt.Errorf("%s is not the address of one host; name the host", host)
		}
		return net.JoinHostPort(ip.String(), port), nil
	}
	if host = strings.ToLower(host); !isName(host) {
		return "", fmt.Errorf("%q is not a host name or IP address; %s", host, forms)
	}
	return net.JoinHostPort(host, port), nil
}

// isName reports whether DNS can have the name. Underscores are allowed, as resolvers do.
// A last part of digits only is a mistyped IPv4 address.
func isName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	return len(host) <= 253 && !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !isWord(r) })
	}) && strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
