package messages

import (
	"reflect"
	"slices"
)

// Requests are the requests that a message lists, each once: the elements of its slices
// that are ids or EngineRequests, or have an ID. They are the suspects if handling the
// message fails. Messages about a step list rows; their sender and their receiver know
// the requests.
func Requests(msg any) []RequestID {
	m := reflect.Indirect(reflect.ValueOf(msg))
	if m.Kind() != reflect.Struct {
		return nil
	}
	var ids []RequestID
	for _, list := range m.Fields() {
		if list.Kind() != reflect.Slice {
			continue
		}
		for i := range list.Len() {
			id := reflect.Indirect(list.Index(i))
			if id.Kind() == reflect.Struct {
				id = id.FieldByName("ID")
			}
			if id.IsValid() && id.Type() == reflect.TypeFor[RequestID]() {
				ids = append(ids, RequestID(id.Uint()))
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
