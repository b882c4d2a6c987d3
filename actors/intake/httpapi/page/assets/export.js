// A conversation as a file.

export function markdown(c) {
  const parts = [`# ${c.title}`];
  if (c.system) parts.push(`**System**\n\n${c.system}`);
  for (const m of c.messages) parts.push(`**${m.role === "user" ? "You" : "Model"}**\n\n${m.content}`);
  return parts.join("\n\n") + "\n";
}

export function save(name, kind, text) {
  const a = document.createElement("a"), url = URL.createObjectURL(new Blob([text], { type: kind }));
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
