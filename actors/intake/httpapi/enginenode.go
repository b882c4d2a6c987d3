package httpapi

import "net/http"

// EngineNode makes the server that of an engine in a cluster: it has the endpoints about
// this engine alone, and sends clients to a gateway for all others. The catalogue has one
// model, whose Engine answers for the local engine: only questions are sent to it
// (AskAudit, AskCacheFlush, AskCacheTree). Of the Model, ID is used.
type EngineNode struct {
	Cluster string        // its name
	Gateway func() string // the URL of a gateway, "" if none is known yet
}

// engineEndpoints are those of an engine.
var engineEndpoints = []string{"/livez", "/readyz", "/health", "/metrics", "/server_info", "/get_server_info",
	"/debug/audit", "/debug/cache", "/flush_cache", "/v1/cluster", "/v1/cluster/actors", "/v1/cluster/events", "/v1/cluster/actions"}

// misdirected answers requests that are for gateways.
func (n *EngineNode) misdirected(http.ResponseWriter, *http.Request) *apiError {
	e := newError(http.StatusMisdirectedRequest).coded("engine_node")
	if url := n.Gateway(); url != "" {
		return e.say("this node is an engine of the cluster %s; send requests to a gateway, for example %s", own(n.Cluster), own(url))
	}
	return e.say("this node is an engine of the cluster %s; send requests to a gateway; this engine knows none yet", own(n.Cluster))
}
