// Conversations in the browser's storage. Nothing leaves the browser but requests.
// A conversation: {id, title, system, settings, messages: [{role, content, thinking?, note?}]}.

export const place = "troupe.conversations";
const mostConversations = 100;

export function load() {
  try {
    const list = JSON.parse(localStorage.getItem(place) ?? "[]");
    return Array.isArray(list) ? list.filter((c) => c && typeof c.id === "string" && Array.isArray(c.messages)) : [];
  } catch {
    return []; // another program's text, or no storage
  }
}

// save keeps the newest conversations, as many as the storage has room for. dropped is how
// many it has removed, oldest first. tooLong says that the current one does not fit even
// alone: then the storage keeps what it has.
export function save(list, current) {
  const kept = list.slice(0, mostConversations);
  while (!stored(kept)) {
    const oldest = kept.findLastIndex((c) => c !== current);
    if (oldest < 0) return { dropped: 0, tooLong: true };
    kept.splice(oldest, 1);
  }
  const dropped = list.length - kept.length;
  list.splice(0, list.length, ...kept);
  return { dropped, tooLong: false };
}

function stored(list) {
  try {
    localStorage.setItem(place, JSON.stringify(list));
    return true;
  } catch {
    return false; // no room, or no storage
  }
}

// create makes a conversation with the settings of another one.
export function create({ system, settings } = { system: "", settings: {} }) {
  return { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), title: "", system, settings: { ...settings }, messages: [] };
}

// title is the beginning of the first message.
export function title(c) {
  const first = c.messages.find((m) => m.role === "user");
  return first ? [...first.content.trim().replace(/\s+/g, " ")].slice(0, 60).join("") : "New conversation";
}

// The key is kept for this tab only.
export const key = {
  get: () => sessionStorage.getItem("troupe.key") ?? "",
  set: (value) => (value ? sessionStorage.setItem("troupe.key", value) : sessionStorage.removeItem("troupe.key")),
};
