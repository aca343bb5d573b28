import type { Page } from 'playwright-core';

/** Collects what goes wrong on a page: violations of its policy, errors, failed requests. */
export class Problems {
  readonly seen: string[] = [];
  private readonly expected: RegExp[] = [];

  constructor(page: Page) {
    page.on('console', (message) => {
      // The browser also logs a violated policy and an answer above 399 to the console.
      if (message.type() === 'error' || message.type() === 'warning')
        this.note(`${message.type()}: ${message.text()} at ${message.location().url}`);
    });
    page.on('pageerror', (error) => this.note(`thrown: ${error.stack ?? error.message}`));
    page.on('requestfailed', (request) => {
      const why = request.failure()?.errorText;
      // A page that is left, or that closes its event stream, aborts its requests.
      if (why !== 'net::ERR_ABORTED') this.note(`failed: ${request.method()} ${request.url()}: ${why}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400)
        this.note(`answered ${response.status()}: ${response.request().method()} ${response.url()}`);
    });
  }

  /** From now on, and of what was seen, problems like this are part of the test. */
  expect(pattern: RegExp): void {
    this.expected.push(pattern);
    for (let at = this.seen.length - 1; at >= 0; at--)
      if (pattern.test(this.seen[at]!)) this.seen.splice(at, 1);
  }

  private note(problem: string): void {
    if (!this.expected.some((pattern) => pattern.test(problem))) this.seen.push(problem);
  }
}
