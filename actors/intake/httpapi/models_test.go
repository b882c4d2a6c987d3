package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

func TestModels(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	model := object{"id": testserver.ModelID, "object": "model", "created": 1700000000, "owned_by": "troupe", "max_model_len": 512, "context_length": 512}
	want(t, send(t, s, "GET", "/v1/models", nil).object(t), object{"object": "list", "data": list{model}})
	for _, path := range []string{"/v1/models/fake/model", "/v1/models/fake%2Fmodel"} {
		want(t, send(t, s, "GET", path, nil).object(t), model)
	}
	a := send(t, s, "GET", "/v1/models/other", nil)
	want(t, errorOf(t, a), "model_not_found", "code")
	if a.status != http.StatusNotFound {
		t.Errorf("status %d", a.status)
	}
}
