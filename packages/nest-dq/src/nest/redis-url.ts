/** What of the text `redis` is wrong, as a refusal puts it; undefined when it is a URL that leads to a Redis. */
export function redisUrlFault(text: string): string | undefined {
  const expected = 'expected redis://… or rediss://…';
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1];
  if (scheme !== undefined && !/^rediss?$/i.test(scheme)) return `is a URL of ${scheme}: ${expected}`;
  if (scheme !== undefined && leadsToRedis(text)) return undefined;
  return `is ${withoutSecrets(text)}: ${expected}`;
}

function leadsToRedis(text: string): boolean {
  try {
    const { hostname, pathname, username, password } = new URL(text);
    decodeURIComponent(username + password); // a percent sign that stands for itself
    return hostname !== '' && /^\/?\d*$/.test(pathname);
  } catch {
    return false; // what URL and decodeURIComponent throw says nothing else
  }
}

/** As it may be logged. Where one part ends and the next begins is not known of what is no URL, so little is left of it. */
function withoutSecrets(text: string): string {
  const [scheme = ''] = /^rediss?:(\/\/)?/i.exec(text) ?? [];
  return JSON.stringify(/[@?]/.test(text) ? `${scheme}…` : text.slice(0, 100));
}
