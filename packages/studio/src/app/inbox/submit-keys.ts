/** ⌘ Enter or Ctrl+Enter sends a form from any of its fields. */
export function submitOnCommandEnter(event: {
  key: string
  metaKey: boolean
  ctrlKey: boolean
  currentTarget: HTMLFormElement
}) {
  if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit()
}
