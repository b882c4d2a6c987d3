SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
GO      ?= go
# Where the binary goes.
OUT     ?= bin/troupe
OUT_CUDA ?= bin/troupe-cuda
# Where gpu-pack writes its folder.
PACK    ?= bin/gpu-pack
# The entry point that reports a low ulimit -v before Go's runtime fails. Only
# these platforms have it. docs/decisions/0020-entry-point.md
ENTRY   := -E _troupe_entry
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) \
  $(if $(filter linux/amd64 linux/arm64,$(shell $(GO) env GOOS GOARCH | paste -sd/)),$(ENTRY))"
# A script beside the project, if the conformance data is there: it unpacks the
# data if necessary and prints its folder. Only the target conformance runs it.
UNPACK  ?= ../shared/data/unpack
FUZZ    ?= 30s
CHAOS   ?= 30m

# The variant for NVIDIA GPUs: see docs/decisions/0036-cuda-driver.md.
CUDA    := CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -I$(CURDIR)/gpu/cuda/driver/include"
CUDATAGS := cuda,netgo,osusergo
MUTANTS  ?= 1
# No ids: they depend on the folder, and two builds shall give the same bytes.
CUDAIDS := -buildid= -B none

.PHONY: build-cuda test-cuda mutants fake-cuda gpu-pack kernels help build run test race soak bench conformance clients lint fuzz generate train cross chaos failover release changelog arm64 deploycheck

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/troupe, one static binary
	$(BUILD) -o $(OUT) ./cmd/troupe

build-cuda: ## build bin/troupe-cuda, which also uses NVIDIA GPUs (needs gcc, nothing of NVIDIA)
	$(CUDA) $(GO) build -trimpath -buildvcs=false -tags $(CUDATAGS) -ldflags "-s -w $(CUDAIDS) -X main.version=$(VERSION) -X main.commit=$(COMMIT) $(ENTRY)" -o $(OUT_CUDA) ./cmd/troupe

test-cuda: ## test the CUDA device over the emulation of its kernels (needs g++)
	$(CUDA) $(GO) vet -tags $(CUDATAGS),invariants ./gpu/cuda/... ./cmd/troupe/...
	@set -ex; export TROUPE_CUDA_TESTS=1 $(CUDA); \
	  { $(GO) test -tags $(CUDATAGS),invariants -timeout 20m -run '^TestCUDA' ./cmd/troupe/node && \
	    $(GO) test -tags $(CUDATAGS),invariants -timeout 20m -run '^TestRandomShapes$$' ./gpu/cuda; } & beside=$$!; \
	  $(GO) test -tags $(CUDATAGS),invariants -timeout 20m -skip '^TestRandomShapes$$' ./testkit/binarytest ./gpu/cuda/... ./testkit/cudaemu/... || { wait $$beside; exit 1; }; \
	  wait $$beside
	TROUPE_CUDA_TESTS=1 $(CUDA) $(GO) test -race -tags $(CUDATAGS),invariants -run '^TestSmallSteps$$' ./gpu/cuda

mutants: ## break each barrier, wait, guard and index of the CUDA kernels alone: MUTANTS=1 all (an hour), or how many are drawn
	TROUPE_CUDA_TESTS=1 TROUPE_CUDA_MUTANTS=$(MUTANTS) $(GO) test -count=1 -timeout 0 -run '^TestMutants$$' -v ./gpu/cuda/kernels ./gpu/cuda/kernels/sampletest

fake-cuda: ## build the fake CUDA driver, with the kernels emulated, and print its path (needs g++)
	@$(GO) run ./tools/fakecuda

gpu-pack: ## write PACK (bin/gpu-pack): tests and measurements for a machine with a GPU and nothing else (needs gcc, xz)
	rm -rf $(PACK).parts
	$(MAKE) -s build-cuda OUT_CUDA=$(PACK).parts/troupe-cuda
	$(CUDA) $(GO) test -c -trimpath -tags $(CUDATAGS) -ldflags "-s -w $(CUDAIDS)" -o $(PACK).parts/cuda/cuda.test ./gpu/cuda
	$(CUDA) $(GO) test -c -trimpath -tags $(CUDATAGS) -ldflags "-s -w $(CUDAIDS)" -o $(PACK).parts/binarytest/binarytest.test ./testkit/binarytest
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o $(PACK).parts/unpack ./tools/gpupack/unpack
	bash tools/gpupack/pack.sh $(PACK).parts $(PACK) "$(VERSION) $(COMMIT)"
	rm -rf $(PACK).parts

kernels: ## compile the CUDA kernels again (clang 19 and ptxas 12.4)
	$(GO) run ./gpu/cuda/kernels/build

run: build ## serve the embedded model on 127.0.0.1:30000
	./bin/troupe serve

test: ## run the tests, with the costly invariant checks on
	$(GO) test -tags invariants -timeout 20m ./...

race: ## run the tests under the race detector (needs cgo)
	CGO_ENABLED=1 $(GO) test -race -tags invariants -timeout 25m ./...

soak: ## full matrices, thousands of schedules, five minutes of 64 clients
	TROUPE_SOAK=1 $(GO) test -tags invariants -timeout 90m -count=1 ./...
	TROUPE_SOAK=1 $(GO) test -timeout 30m -count=1 -run Soak ./lab/replay
	TROUPE_ALONE=1 $(GO) test -count=1 -run 'TestStarvationSoak|TestProbesSoak|TestOverload' -v ./cmd/troupe/node

chaos: ## break the processes and links of a cluster for CHAOS (30m); TROUPE_SEED=N repeats a plan
	TROUPE_CHAOS=$(CHAOS) $(GO) test -tags invariants -timeout 0 -count=1 -run '^TestChaos$$' -v ./testkit/clustertest

failover: ## measure what a fault and a gateway cost; nothing else should run (15 minutes)
	TROUPE_ALONE=1 $(GO) test -timeout 60m -count=1 -run 'TestFailover|TestCutOffFailover|TestGatewayCost|TestSaturated' -v ./testkit/clustertest

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

conformance: ## run the tests on data made by others: make conformance DIR=...
	@dir="$(DIR)"; if [ -z "$$dir" ] && [ -x $(UNPACK) ]; then dir=$$($(UNPACK)) || exit; fi; \
	if [ ! -d "$$dir" ]; then echo "make conformance: no data$${dir:+ in $$dir}; name its folder: make conformance DIR=..." >&2; exit 1; fi; \
	set -x; TROUPE_CONFORMANCE=$$(cd "$$dir" && pwd) $(GO) test -count=1 -run Conformance ./...

clients: build ## drive the server with popular clients for Node, and read its cache with Hugging Face's (needs npm); with DIR=... ajv checks samples of JSON Schemas
	DIR="$(DIR)" ./testkit/clients/node/run.sh

lint: ## gofmt, vet, staticcheck, and that go.mod is tidy
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) mod tidy -diff
	$(GO) vet -tags invariants ./...
	$(GO) tool staticcheck -tags invariants ./...

fuzz: ## fuzz every parser for FUZZ (30s) each
	@set -e; grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r d; do \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$d/*_test.go | sed 's/func //'); do \
	    echo "$$d $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZ) -fuzzminimizetime 5x $$d; done; done

generate: ## write generated code again: assembly of the kernels, messages between nodes
	$(GO) generate ./gpu/cpu/kernel/gen ./gpu/cuda/driver/gen ./cluster/wire

train: ## train the embedded model again (Debian's python3-torch, under an hour)
	cd tools/train-bundled && /usr/bin/python3 train.py && /usr/bin/python3 evaluate.py --golden

cross: ## compile for the other platforms
	@set -e; for p in linux/arm64 darwin/arm64 windows/amd64; do echo $$p; \
	  case $$p in linux/*) flags="$(ENTRY)";; *) flags=;; esac; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -ldflags "$$flags" -o /dev/null ./cmd/troupe; done

release: ## archives of all platforms in dist/, with checksums (needs gcc; without: RELEASE_FLAGS=-without-cuda)
	$(GO) run ./tools/release -version $(VERSION) $(RELEASE_FLAGS)

changelog: ## check that the newest version in CHANGELOG.md and the tags agree
	$(GO) run ./tools/release -check

# Packages whose results must not depend on the processor, and those with code for arm64.
ARM64   := ./memory/... ./request ./sched/route ./gpu/quant ./gpu/rows ./gpu/cpu/kernel/... ./model/tokenizer ./model/chat/...
arm64: ## tests of the portable code on an emulated arm64 (Debian's qemu-user-static)
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -short -skip TestGenerated -vet=off -timeout 10m -exec qemu-aarch64-static $(ARM64)

deploycheck: ## check the files in deploy/ with the tools of their makers, where these are installed
	cd tools/deploycheck && $(GO) test -count=1 ./...
