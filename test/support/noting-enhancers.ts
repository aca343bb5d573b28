import {
  Catch,
  Injectable,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { isDqContext, type DelayedJob } from 'nest-dq';
import { tap, type Observable } from 'rxjs';

/** Records of enhancers and handlers, in order. */
export const seen: unknown[] = [];

export function forget(): void {
  seen.length = 0;
}

@Injectable()
export class Audit {
  readonly name = 'audit';
}

/** It has an injected dependency, so only an instance that Nest created works. */
@Injectable()
export class Guard implements CanActivate {
  constructor(private readonly audit: Audit) {}
  canActivate(context: ExecutionContext): boolean {
    const [payload, job] = context.getArgs<[{ deny?: boolean }, DelayedJob]>();
    const { name } = context.getHandler();
    seen.push(`guard of ${this.audit.name}, ${context.getClass().name}.${name}, ${job.attempt}`);
    return isDqContext(context) && context.getType<string>() === 'dq' && !payload.deny;
  }
}

@Injectable()
export class Interceptor implements NestInterceptor {
  constructor(private readonly audit: Audit) {}
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push(`before, ${this.audit.name}`);
    return next.handle().pipe(tap({ next: (value) => seen.push(`after ${String(value)}`) }));
  }
}

@Injectable()
export class Pipe implements PipeTransform {
  constructor(private readonly audit: Audit) {}
  transform(value: unknown, { type, metatype }: { type: string; metatype?: Function }): unknown {
    seen.push(`pipe of ${this.audit.name}: ${type}, ${metatype?.name}`);
    return value;
  }
}

@Injectable()
@Catch()
export class Filter implements ExceptionFilter {
  constructor(private readonly audit: Audit) {}
  catch(error: Error, host: ArgumentsHost): undefined {
    const [, job] = host.getArgs<[unknown, DelayedJob]>();
    seen.push(`filter of ${this.audit.name}: ${error.message}, ${isDqContext(host)}, ${job.tube}`);
  }
}
