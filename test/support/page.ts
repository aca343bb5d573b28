/** The blocks of TypeScript on a page of the documentation. */
export function blocksOf(page: string): string[] {
  return [...page.matchAll(/^ *```ts\n([^]*?)^ *```$/gm)].map(([, code]) => code!);
}

/** Code without the differences that a formatter makes for another length of lines. */
export function compact(code: string): string {
  return code.replace(/\s+/g, '').replace(/,(?=[)\]}]|$)/g, '');
}
