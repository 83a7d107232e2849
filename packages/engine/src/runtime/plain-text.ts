/** Texts that every database keeps as they are: no NUL, no half of a surrogate pair. */
export function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && !/\p{Surrogate}/u.test(text)
}
