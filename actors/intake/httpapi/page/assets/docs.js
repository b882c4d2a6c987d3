// The server's OpenAPI description, for people.
const make = (name, text = "", ...children) => {
  const e = document.createElement(name);
  e.append(text, ...children);
  return e;
};

// typeOf is the type of a schema in words.
function typeOf(schema) {
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" or ");
  if (schema.type === "array") return schema.items?.type ? `list of ${schema.items.type}s` : "list";
  return schema.type ?? "any";
}

// fields lists the fields of an object, those of objects within it included.
function fields(schema, prefix, required, to) {
  for (const [name, s] of Object.entries(schema.properties ?? {})) {
    to.push([prefix + name, typeOf(s), (required.includes(name) ? "Required. " : "") + (s.description ?? "")]);
    if (s.type === "object") fields(s, `${prefix + name}.`, s.required ?? [], to);
    else if (s.items?.properties) fields(s.items, `${prefix + name}[].`, [], to);
  }
  return to;
}

function table(rows) {
  const body = make("tbody");
  for (const row of rows) {
    const tr = body.insertRow();
    row.forEach((text, i) => tr.insertCell().append(i === 0 ? make("code", text) : text));
  }
  return make("table", "", body);
}

function endpoint(path, method, op) {
  const e = make("details", "", make("summary", "", make("code", `${method.toUpperCase()} ${path}`), ` ${op.summary}`));
  const key = op.security?.some((s) => "admin" in s) ? "Needs the admin key, if the server has any key." : op.security ? "Needs an API key, if the server has any." : "Needs no key.";
  e.append(make("p", key));
  const rows = (op.parameters ?? []).map((p) => [p.in === "query" ? `?${p.name}=` : `{${p.name}}`, p.schema.type, p.description]);
  const media = op.requestBody?.content["application/json"];
  if (media) fields(media.schema, "", media.schema.required ?? [], rows);
  if (rows.length > 0) e.append(table(rows));
  const ok = op.responses["200"];
  e.append(make("p", `Answer: ${ok.description} (${Object.keys(ok.content ?? {}).join(" or ")}).`));
  const base = location.href.replace(/docs([?#].*)?$/, "");
  let command = `curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${base}${path.slice(1)}`;
  if (media) command += ` -H 'Content-Type: application/json' -d '${JSON.stringify(media.example ?? {})}'`;
  e.append(make("pre", "", make("code", command)));
  return e;
}

async function show() {
  const response = await fetch("openapi.json").catch(() => {
    throw new Error("the server cannot be reached");
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const api = await response.json(), groups = new Map();
  const first = ([path]) => (path.startsWith("/v1/c") ? 0 : 1);
  for (const [path, methods] of Object.entries(api.paths).sort((a, b) => first(a) - first(b))) {
    for (const [method, op] of Object.entries(methods)) {
      const group = op.tags[0];
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(endpoint(path, method, op));
    }
  }
  const order = ["Generate text", "Models and tokens", "Health and metrics", "Administration", "Cluster"];
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  for (const name of [...groups.keys()].sort((a, b) => place(a) - place(b))) {
    document.getElementById("endpoints").append(make("h2", name), ...groups.get(name));
  }
  document.getElementById("status").textContent = "";
}

show().catch((e) => {
  document.getElementById("status").textContent = `Cannot load the description of the API: ${e.message}. Check that the server is running, then reload the page.`;
});
