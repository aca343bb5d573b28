import { BadRequestException, type PipeTransform } from '@nestjs/common';

/** `@Body(new BodyOf(check))`: the request's body, JSON or a form, read by `check`; 400 with what is wrong. */
export class BodyOf<T> implements PipeTransform<unknown, T> {
  constructor(private readonly check: (fields: Fields) => T) {}

  transform(body: unknown): T {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new BadRequestException('the body is missing: expected a JSON object or a form');
    }
    const fields = new Fields(body as Record<string, unknown>);
    const checked = this.check(fields);
    fields.refuseMistakes();
    return checked;
  }
}

/** Reads fields and collects what is wrong with them, so that a client learns it all at once. */
export class Fields {
  private readonly mistakes: string[] = [];

  constructor(private readonly body: Record<string, unknown>) {}

  text(name: string): string {
    return this.read(name, 'a text of 1 to 100 characters', (value) =>
      typeof value === 'string' && value.trim() !== '' && value.length <= 100 ? value.trim() : undefined,
    );
  }

  email(name: string): string {
    return this.read(name, 'an address such as ann@example.com', (value) =>
      typeof value === 'string' && /^[^\s@]{1,64}@[^\s@]{1,189}$/.test(value) ? value : undefined,
    );
  }

  /** Forms carry numbers as texts. */
  count(name: string, most: number): number {
    return this.read(name, `a whole number from 1 to ${most}`, (value) => {
      const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      return typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= most
        ? count
        : undefined;
    });
  }

  refuseMistakes(): void {
    if (this.mistakes.length > 0) throw new BadRequestException(this.mistakes);
  }

  private read<T>(name: string, expected: string, parse: (value: unknown) => T | undefined): T {
    const value = this.body[name];
    const parsed = parse(value);
    if (parsed === undefined) {
      const given = value === undefined ? 'missing' : JSON.stringify(value).slice(0, 100);
      this.mistakes.push(`\`${name}\` is ${given}: expected ${expected}`);
    }
    return parsed as T; // a mistake is refused before anybody sees it
  }
}
