import { DqError, toError } from '../errors.js';
import { errorWire } from './failures.js';
import { StreamedAnswer, type HttpResponse } from './http.js';
import type { BulkLine, BulkProgressWire } from './wire.js';

type Pages = AsyncIterator<BulkProgressWire, void>;

/** Acts on many, each told to the viewer who began it, page by page. One that has left, or a shutdown, ends his act after its page. */
export class BulkAnswers {
  private readonly running = new Set<Promise<void>>();
  private closing = false;

  /**
   * Resolves after the first page, and the others follow. Rejects if there is no first page, with why; then nothing is
   * answered.
   */
  async answer(response: HttpResponse, pages: Pages): Promise<void> {
    const stream = new StreamedAnswer(response, () => undefined);
    const first = await pages.next();
    stream.open('application/x-ndjson; charset=utf-8');
    const running = this.tell(stream, pages, first).finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** When it resolves, no act goes on. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.running);
  }

  /** Never rejects. */
  private async tell(
    stream: StreamedAnswer,
    pages: Pages,
    first: IteratorResult<BulkProgressWire, void>,
  ): Promise<void> {
    const write = (line: BulkLine) => stream.write(`${JSON.stringify(line)}\n`);
    let page = first;
    try {
      while (!page.done) {
        write({ progress: page.value });
        if (this.closing || stream.gone) {
          await pages.return?.();
          write({
            error: { code: 'DQ_CLOSED', message: 'the server shuts down, so the act has ended early' },
          });
          return;
        }
        page = await pages.next();
      }
      write({ end: true });
    } catch (thrown) {
      // What was done of the page that failed counts, too.
      const progress = thrown instanceof DqError ? thrown.progress : undefined;
      if (progress && !page.done) write({ progress: { ...page.value, ...progress } });
      write({ error: errorWire(toError(thrown)) });
    } finally {
      stream.end();
    }
  }
}
