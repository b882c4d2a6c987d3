// Package discovery proposes the addresses of a cluster's other nodes.
//
// A proposal is a hint where to dial. Only a link says who is alive. So an outage of DNS or
// etcd takes no address from the list, and an address that leaves the list ends no link: the
// caller only stops dialling it.
//
// Every source of addresses is a cluster.ClusterProvider of protoactor: one of ours for fixed
// addresses and names in DNS, and protoactor's for etcd with its defects worked around. The
// cluster runtime of protoactor does not run. docs/decisions/0028-discovery.md has the reasons.
//
// # Parts
//
//   - discovery: Start and Stop; one goroutine gathers what the sources report
//   - proposals: the list of addresses over all sources, and how long one stays on it
//   - join: the setting cluster-join, and its errors
//   - publish: the unstarted cluster.Cluster that a provider publishes its members to
//   - lookups: the provider for fixed addresses and names in DNS
//   - registry: the provider for etcd: sessions, this node's own entry
//   - view: what protoactor's etcd provider sees of the client
package discovery
