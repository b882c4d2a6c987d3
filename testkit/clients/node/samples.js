// Draws samples of JSON Schemas from their grammars, and validates them with ajv:
// node samples.js maskbench.jsonl.xz TROUPE [SCHEMAS [SAMPLES]]. The schemas are those in the
// file that ajv and troupe both take, spread over it, until there are enough.
import { execFileSync } from "node:child_process";
import Ajv from "ajv";
import Ajv2019 from "ajv/dist/2019.js";
import Ajv2020 from "ajv/dist/2020.js";
import Ajv04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import draft6 from "ajv/dist/refs/json-schema-draft-06.json" with { type: "json" };

const [file, troupe, schemas = "500", samples = "20"] = process.argv.slice(2);
if (!troupe) throw new Error("usage: node samples.js maskbench.jsonl.xz TROUPE [SCHEMAS [SAMPLES]]");
const lines = execFileSync("xz", ["-dc", file], { encoding: "utf8", maxBuffer: 1 << 30 }).trim().split("\n");

// A validator of the draft that a schema names; without one, of the newest, as troupe reads it.
const compile = (schema) => {
  const options = { strict: false, logger: false, allErrors: true, validateSchema: false, ownProperties: true };
  const named = String(schema?.$schema ?? "");
  const kind = /draft-04/.test(named) ? Ajv04 : /draft-0[67]/.test(named) ? Ajv : /2019-09/.test(named) ? Ajv2019 : Ajv2020;
  const ajv = new kind.default(options);
  if (/draft-06/.test(named)) ajv.addMetaSchema(draft6);
  addFormats.default(ajv);
  const { uri, email } = ajv.formats;
  ajv.addFormat("uri", (text) => uri(text.replace(/^([a-z][a-z0-9+.-]*:)(?=[?#]|$)/i, "$1a"))); // as in RFC 3986, the path may be empty
  ajv.addFormat("email", (text) => email.test(text.replace(/@[^@.]+$/, "$&.x"))); // as in RFC 5321, the domain may have one label
  ajv.addFormat("url", true); // of no draft
  return ajv.compile(/draft-0/.test(named) ? alone(schema) : schema);
};

// Up to draft 7, nothing beside a $ref counts. ajv does not know that.
const alone = (value, key) => {
  if (typeof value !== "object" || value === null || ["enum", "const", "default", "examples"].includes(key)) return value;
  if (Array.isArray(value)) return value.map((one) => alone(one));
  const isRef = typeof value.$ref === "string";
  return Object.fromEntries(Object.entries(value).filter(([name]) => !isRef || ["$ref", "$schema", "definitions"].includes(name)).map(([name, one]) => [name, alone(one, name)]));
};

// Samples of a batch of schemas. The settings of the shell that runs this have no effect.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TROUPE_")));
const sample = (batch) => {
  const input = batch.map(({ schema }, seed) => JSON.stringify({ kind: "json_schema", grammar: schema, sample: Number(samples), seed }) + "\n").join("");
  return execFileSync(troupe, ["inspect", "grammar"], { env, input, encoding: "utf8", maxBuffer: 1 << 30 }).trim().split("\n").map((line) => JSON.parse(line));
};

const step = 1009; // a prime, so that every line has its turn once
const foreign = [];
let next = 0;
const candidates = (count) => {
  const batch = [];
  for (; next < lines.length && batch.length < count; next++) {
    const { name, schema } = JSON.parse(lines[(next * step) % lines.length]);
    try {
      batch.push({ name, schema, validate: compile(schema) });
    } catch (e) {
      foreign.push(`${name}: ${String(e.message).slice(0, 120)}`);
    }
  }
  return batch;
};

// ajv cannot judge numbers that floats round, nor objects whose names repeat: they have lost
// members when it sees them.
const rounded = (text) => (text.replace(/"(?:[^"\\]|\\.)*"/g, "").match(/-?\d[\d.eE+-]*/g) ?? []).some((n) => Math.abs(Number(n)) > Number.MAX_SAFE_INTEGER);
const names = (value) => typeof value !== "object" || value === null ? 0 : Object.values(value).reduce((sum, one) => sum + names(one), Array.isArray(value) ? 0 : Object.keys(value).length);
const repeats = (text) => names(JSON.parse(text)) < (text.match(/"(?:[^"\\]|\\.)*"\s*:/g) ?? []).length;

let taken = 0, drawn = 0, valid = 0, unjudged = 0, endless = 0, refused = 0;
while (taken < Number(schemas)) {
  const batch = candidates(Number(schemas) - taken);
  if (batch.length === 0) break;
  sample(batch).forEach((got, i) => {
    const { name, validate } = batch[i];
    if (got.refused) {
      refused++;
      return;
    }
    taken++;
    for (const text of got.samples) {
      if (text === null) {
        endless++;
        continue;
      }
      drawn++;
      let errors;
      try {
        errors = validate(JSON.parse(text)) ? null : validate.errors;
      } catch (e) {
        errors = [{ message: String(e) }];
      }
      if (errors === null) valid++;
      else if (rounded(text) || repeats(text)) unjudged++;
      else console.log(`${name}: ${errors.slice(0, 3).map((e) => `${e.instancePath ?? ""} ${e.keyword ?? ""}: ${e.message}`).join("; ")}\n  ${text.slice(0, 400)}`);
    }
  });
}
for (const one of foreign) console.log(`ajv cannot compile ${one}`);
console.log(`${drawn} samples of ${taken} schemas: ${valid} valid, ${drawn - valid - unjudged} not, ${unjudged} that ajv cannot judge; ` +
  `${endless} without an end; ${refused} schemas refused by troupe, ${foreign.length} by ajv`);
if (valid + unjudged !== drawn || valid === 0) process.exitCode = 1;
