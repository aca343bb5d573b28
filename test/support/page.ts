/** The TypeScript that a page of the documentation shows, block by block. */
export function blocksOf(page: string): string[] {
  return [...page.matchAll(/^ *```ts\n([^]*?)^ *```$/gm)].map(([, code]) => code!);
}

/** Code without what a formatter may change, where lines are shorter or longer. */
export function compact(code: string): string {
  return code.replace(/\s+/g, '').replace(/,(?=[)\]}]|$)/g, '');
}
