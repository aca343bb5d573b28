import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  Headers,
  Inject,
  Injectable,
  ParseIntPipe,
  Scope,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, ContextIdFactory, ModuleRef, REQUEST } from '@nestjs/core';
import { firstValueFrom, from, map, of, race, type Observable } from 'rxjs';
import { NotePublic, Note, OnNote, Skip, bind } from '../spec-support/notes.js';
import { itemParameter, payloadParameter } from './parameters.js';

const note = () => new Note();

@Injectable()
class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const [payload, { author }] = context.getArgs<[unknown, Note]>();
    return context.getType<string>() === 'note' && author === 'ann' && payload !== 'secret';
  }
}
@Injectable()
class Wrap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((result) => ({ wrapped: result })));
  }
}
@Catch(RangeError)
class SkipRange implements ExceptionFilter {
  catch(error: RangeError): unknown {
    return error.message === 'skip' ? new Skip() : 'handled';
  }
}

/** The handler of a class whose method `run` takes notes about `x`. */
async function handlerOf(type: Type) {
  const { handlers, warnings } = await bind({ providers: [type] });
  return { run: (payload: unknown, item = note()) => handlers['x']!(payload, item), warnings };
}

describe('a handler without enhancers', () => {
  it('is called with payload and item, and answers at once if the method does', async () => {
    @Injectable()
    class Plain {
      readonly seen: unknown[] = [];
      @OnNote('x')
      run(...args: unknown[]): unknown {
        return [this instanceof Plain, ...args];
      }
    }
    const { run } = await handlerOf(Plain);
    const item = note();
    expect(run('hello', item)).toEqual([true, 'hello', item]);
  });

  it('gives the last value of an Observable', async () => {
    @Injectable()
    class Observed {
      @OnNote('x')
      run(): Observable<number> {
        return of(1, 2, 3);
      }
    }
    expect(await (await handlerOf(Observed)).run('')).toBe(3);
  });

  it('is called by the method that the instance has by then', async () => {
    class Spied {
      @OnNote('x')
      run(): string {
        return 'the method';
      }
    }
    const spied = new Spied();
    const { handlers } = await bind({ providers: [{ provide: Spied, useValue: spied }] });
    spied.run = () => 'a spy';
    expect(handlers['x']!('', note())).toBe('a spy');
  });
});

describe('enhancers', () => {
  @Injectable()
  @UseGuards(Guard)
  @UseInterceptors(Wrap)
  @UseFilters(SkipRange)
  class Enhanced {
    @OnNote('x')
    @UsePipes(ParseIntPipe)
    run(count: number, { author }: Note): unknown {
      if (count === 1) return new Skip('returned');
      if (count === 2) throw new Skip('thrown');
      if (count === 3) throw new RangeError('skip');
      if (count === 4) throw new RangeError('stay');
      return `${author} ${count + 1}`;
    }
  }

  it('work around the method, in the context of the kind', async () => {
    const { run } = await handlerOf(Enhanced);
    expect(await run('41')).toEqual({ wrapped: 'ann 42' });
    await expect(run('many')).rejects.toMatchObject({ name: 'BadRequestException' });
    await expect(run('41', new Note('bob'))).rejects.toMatchObject({ name: 'ForbiddenException' });
  });

  it('do not change an outcome, and filters decide only by one', async () => {
    const { run } = await handlerOf(Enhanced);
    expect(await run('1')).toMatchObject({ message: 'returned' });
    await expect(run('2')).rejects.toMatchObject({ message: 'thrown' });
    expect(await run('3')).toBeInstanceOf(Skip);
    await expect(run('4')).rejects.toThrow('stay');
  });

  it('are named in a warning if they look for a request, with the words of the kind', async () => {
    @Injectable()
    class AuthGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        return context.switchToHttp().getRequest<{ user: { id: string } }>().user.id === 'ann';
      }
    }
    @Injectable()
    class Guarded {
      @OnNote('x')
      @UseGuards(AuthGuard)
      run(): void {}
    }
    const { run, warnings } = await handlerOf(Guarded);
    for (let i = 0; i < 2; i++) await expect(run({})).rejects.toThrow(TypeError);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the guard AuthGuard failed on a note of Guarded\.run: .*isNoteContext\(context\)/,
      ),
    ]);
  });

  it('that end before the handler does leave it to the kind', async () => {
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    @Injectable()
    class Impatient implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return race(next.handle(), from(Promise.resolve('too long')));
      }
    }
    @Injectable()
    class Slow {
      @OnNote('x')
      @UseInterceptors(Impatient)
      run(): Promise<void> {
        return finished;
      }
    }
    const item = note();
    expect(await (await handlerOf(Slow)).run('', item)).toBe('too long');
    let ended = false;
    const abandoned = item.abandoned!.then(() => (ended = true));
    expect(await Promise.race([abandoned, firstValueFrom(of('still running'))])).toBe('still running');
    finish();
    await abandoned;
    expect(ended).toBe(true);
  });
});

describe('parameters', () => {
  it('are payload and item in any order, and only payloads have pipes', async () => {
    @Injectable()
    class Moved {
      @OnNote('x')
      @UsePipes(ParseIntPipe)
      run(@itemParameter() item: Note, @payloadParameter() count: number): unknown {
        return [item.author, count];
      }
    }
    expect(await (await handlerOf(Moved)).run('42')).toEqual(['ann', 42]);
  });

  it('that read a request are refused', async () => {
    @Injectable()
    class Reading {
      @OnNote('x')
      run(_payload: unknown, _item: Note, @Headers() _headers: unknown): void {}
    }
    await expect(bind({ providers: [Reading] })).rejects.toThrow(
      'NOTES: Reading.run (in RootTestModule): parameter 3 has a decorator that reads a request, and a note has none: ' +
        'expected @Text(), @CurrentNote() or one made with createParamDecorator',
    );
  });
});

describe('a generator', () => {
  it('is refused, since none of its body would run', async () => {
    @Injectable()
    class Generating {
      @OnNote('x')
      async *run(): AsyncGenerator<number> {
        yield 1;
      }
    }
    await expect(bind({ providers: [Generating] })).rejects.toThrow(
      /^NOTES: Generating\.run \(in RootTestModule\) is a generator, so calling it would run nothing: expected a method without \*/,
    );
  });
});

describe('a global guard', () => {
  @Injectable()
  class TokenGuard implements CanActivate {
    canActivate(): boolean {
      throw new UnauthorizedException();
    }
  }
  class MyTokenGuard extends TokenGuard {
    override canActivate(context?: ExecutionContext): boolean {
      return isNoteContext(context) || super.canActivate();
    }
  }
  const isNoteContext = (context?: ExecutionContext) => context?.getType<string>() === 'note';
  @Injectable()
  class Reminders {
    @OnNote('x')
    send(): string {
      return 'sent';
    }
    @OnNote('y')
    @NotePublic()
    open(): void {}
  }

  it('that does not ask for the context is named at the start, with the handlers that do not opt out', async () => {
    const { handlers, warnings } = await bind({
      providers: [Reminders, { provide: APP_GUARD, useClass: TokenGuard }],
    });
    expect(warnings.splice(0)).toEqual([
      'the global guard TokenGuard also runs before each note of Reminders.send, where there is no request: ' +
        'return true from canActivate when isNoteContext(context)',
    ]);
    await expect(handlers['x']!('', note())).rejects.toThrow('Unauthorized');
    expect(warnings).toEqual([
      'the guard TokenGuard failed on a note of Reminders.send: Unauthorized. ' +
        'Global guards also run before notes; detect those with isNoteContext(context)',
    ]);
  });

  it('that asks for it, or extends one and asks, is not', async () => {
    const { handlers, warnings } = await bind({
      providers: [Reminders, { provide: APP_GUARD, useClass: MyTokenGuard }],
    });
    expect(await handlers['x']!('', note())).toBe('sent');
    expect(warnings).toEqual([]);
  });

  it('that is an object in the place of one, as where an option leaves it out, is not', async () => {
    const nothing = { provide: APP_GUARD, useFactory: () => ({ canActivate: () => true }) };
    const { handlers, warnings } = await bind({ providers: [Reminders, nothing] });
    expect(await handlers['x']!('', note())).toBe('sent');
    expect(warnings).toEqual([]);
  });
});

describe('scopes', () => {
  it('create a request-scoped class for each item, which is its request', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      constructor(@Inject(REQUEST) private readonly request: Note) {}
      @OnNote('x')
      run(_payload: unknown, item: Note): unknown {
        return [this, this.request === item];
      }
    }
    const { run } = await handlerOf(Scoped);
    const [first, second] = (await Promise.all([run(''), run('')])) as [[object, boolean], [object, boolean]];
    expect([first[1], second[1]]).toEqual([true, true]);
    expect(first[0]).not.toBe(second[0]);
  });

  it('give the context of a run to all who ask Nest by its item', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Unit {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      constructor(
        private readonly unit: Unit,
        private readonly moduleRef: ModuleRef,
      ) {}
      @OnNote('x')
      async run(_payload: unknown, item: Note): Promise<unknown> {
        const unit = await this.moduleRef.resolve(Unit, ContextIdFactory.getByRequest(item), {
          strict: false,
        });
        return [unit === this.unit, unit.request === item];
      }
    }
    const { handlers } = await bind({ providers: [Scoped, Unit] });
    const [first, second] = [note(), note()];
    expect(await handlers['x']!('', first)).toEqual([true, true]);
    expect(await handlers['x']!('', second)).toEqual([true, true]);
    expect(ContextIdFactory.getByRequest(first)).not.toBe(ContextIdFactory.getByRequest(second));
    expect(Object.keys(first)).toEqual(Object.keys(note()));
  });

  it('refuse a transient class', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @OnNote('x')
      run(): void {}
    }
    await expect(bind({ providers: [Transient] })).rejects.toThrow(
      /^NOTES: Transient\.run .* is transient, .* which has one instance per note$/,
    );
  });

  it('make a global guard apply that is not a singleton, or refuse where Nest passes it over', async () => {
    @Injectable()
    class Work {
      @OnNote('x')
      run(): string {
        return 'done';
      }
    }
    const guard = { provide: APP_GUARD, useClass: Guard, scope: Scope.REQUEST };
    const { handlers } = await bind({ providers: [Work, guard] });
    expect(await handlers['x']!('open', note())).toBe('done');
    await expect(handlers['x']!('secret', note())).rejects.toMatchObject({ name: 'ForbiddenException' });
    const made = { provide: 'work', useFactory: () => new Work() };
    await expect(bind({ providers: [made, guard] })).rejects.toThrow(
      /NOTES: Work\.run .* would run without the global Guard, which is not a singleton/,
    );
  });
});
