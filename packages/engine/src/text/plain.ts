/** Texts that every database keeps as they are: no NUL, no half of a surrogate pair. */
export function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && !/\p{Surrogate}/u.test(text)
}

/** Made such: strangers send others. */
export function plainText(text: string): string {
  return text.replaceAll("\u0000", "").replace(/\p{Surrogate}/gu, "\uFFFD")
}
