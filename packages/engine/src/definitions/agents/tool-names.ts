/** Tools that go by another name in cagent's files, and patterns of them. */
const OURS: Readonly<Record<string, string>> = {
  create_todo: "todo_write",
  create_todos: "todo_write",
  update_todo: "todo_update",
  update_todos: "todo_update",
  list_todos: "todo_read",
  add_memory: "memory_add",
  get_memories: "memory_list",
  search_memories: "memory_search",
  update_memory: "memory_update",
  delete_memory: "memory_remove",
  read_multiple_files: "read_file",
  directory_tree: "list_directory",
  list_directory_with_sizes: "list_directory",
}

/** The name as it is here; of a permission pattern, the part before the colon. */
export function ourToolName(pattern: string): string {
  // `mcp:server:tool` names the server too; here tools go by their own names.
  const [, bare = pattern] = /^mcp:[^:]*:(.+)$/.exec(pattern) ?? []
  const colon = bare.indexOf(":")
  const name = colon < 0 ? bare : bare.slice(0, colon)
  return (Object.hasOwn(OURS, name) ? (OURS[name] as string) : name) + (colon < 0 ? "" : bare.slice(colon))
}
