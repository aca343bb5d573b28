/**
 * The address of a path relative to the page, so that it holds below any prefix. It leaves out a name and password in the page's
 * own address, with which no request can be made; the browser sends them anyway.
 */
export function urlOf(path: string): string {
  return new URL(path, location.origin + location.pathname).href;
}
