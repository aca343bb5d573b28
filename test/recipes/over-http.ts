import {
  Body,
  Catch,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpException,
  Injectable,
  NotFoundException,
  Param,
  Post,
  Query,
  UseGuards,
  type ArgumentsHost,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { DqError, duration, isDqContext, type DqErrorCode } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';

// The code of docs/errors.md and docs/dead-letters.md.

const STATUS: Partial<Record<DqErrorCode, number>> = {
  DQ_BAD_PAYLOAD: 400,
  DQ_BAD_DURATION: 400,
  DQ_BAD_TIME: 400,
  DQ_PAST_TIME: 400,
  DQ_TOO_FAR: 400,
  DQ_BAD_REF: 400,
  DQ_DUPLICATE: 409,
  DQ_BAD_SEAL: 503,
  DQ_NO_COPY: 503,
  DQ_TOO_FEW_COPIES: 503,
  DQ_LEDGER_DOWN: 503,
  DQ_OTHER_LEDGER: 503,
  DQ_CLOSED: 503,
};

@Catch(DqError)
export class DqErrorFilter extends BaseExceptionFilter {
  override catch(error: DqError, host: ArgumentsHost): void {
    if (isDqContext(host)) throw error; // a global filter stands around handlers, too
    const status = STATUS[error.code];
    if (status === undefined) return super.catch(error, host); // our own slip: logged, and 500
    const { code, indeterminate, issues } = error;
    super.catch(new HttpException({ statusCode: status, code, indeterminate, issues }, status), host);
  }
}

/** Yours. */
@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return headers['x-admin'] === 'yes';
  }
}

@Controller('admin/dead-letters')
@UseGuards(AdminGuard)
export class DeadLettersController {
  constructor(private readonly dead: DqDeadLetters) {}

  @Get()
  list(@Query('tube') tube: string, @Query('cursor') cursor?: string) {
    return this.dead.list(tube, { limit: 20, cursor });
  }

  @Get(':ref')
  async show(@Param('ref') ref: string) {
    const letter = await this.dead.get({ ref });
    if (!letter) throw new NotFoundException('not a dead letter, or no longer one');
    return letter;
  }

  @Post(':ref/revive')
  @HttpCode(200)
  async revive(@Param('ref') ref: string, @Body() body?: { delay?: string }) {
    const delay = body?.delay === undefined ? 0 : duration(body.delay);
    return { result: await this.dead.revive({ ref }, { delay }) };
  }

  @Delete(':ref')
  async discard(@Param('ref') ref: string) {
    return { result: await this.dead.discard({ ref }) };
  }
}
