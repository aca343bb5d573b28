import { randomUUID } from 'node:crypto';
import { Body, ConflictException, Controller, Delete, Get, Param } from '@nestjs/common';
import { ParseIntPipe, ParseUUIDPipe, Patch, Post, UseGuards } from '@nestjs/common';
import { ClsService } from 'nestjs-cls';
import { DelayedHandler, DqProducer, defineTube } from 'nest-dq';
import { Mailer } from './mailer.js';
import { TenantGuard, Tenants, type TenantStore } from './tenants.js';

interface Reminder {
  id: string;
  text: string;
}

const Remind = defineTube<Reminder>('reminder');

/** The guard checks the tenant of each request and of each job. */
@Controller('reminders')
@UseGuards(TenantGuard)
export class RemindersController {
  constructor(
    private readonly cls: ClsService<TenantStore>,
    private readonly tenants: Tenants,
    private readonly dq: DqProducer,
    private readonly mailer: Mailer,
  ) {}

  @Post()
  async create(@Body('text') text: string, @Body('seconds', ParseIntPipe) seconds: number) {
    const reminder = { id: randomUUID(), text };
    const { key } = this.refOf(reminder.id);
    await this.dq.delay(Remind, reminder, `${seconds}s`, { key, group: this.tenant });
    return reminder;
  }

  @Patch(':id')
  async reschedule(@Param('id', ParseUUIDPipe) id: string, @Body('seconds', ParseIntPipe) seconds: number) {
    const result = await this.dq.reschedule(this.refOf(id), { delay: `${seconds}s` });
    if (result !== 'rescheduled') throw new ConflictException(`reminder ${id}: ${result}`);
    return { result };
  }

  @Delete(':id')
  async undo(@Param('id', ParseUUIDPipe) id: string) {
    const result = await this.dq.revoke(this.refOf(id));
    if (result !== 'revoked') throw new ConflictException(`reminder ${id}: ${result}`);
    return { result };
  }

  @Get('sent')
  sent() {
    return this.mailer.sent(this.tenant);
  }

  @Post('close-account')
  closeAccount() {
    this.tenants.close(this.tenant);
  }

  /** One at a time for each tenant, so that none takes all connections of the mail server. */
  @DelayedHandler(Remind, { limit: { perGroup: 1 } })
  async send({ id, text }: Reminder) {
    await this.mailer.send(this.tenant, id, text);
  }

  private get tenant(): string {
    return this.cls.get('tenant')!; // the guard has checked it
  }

  /** The key contains the tenant, so nobody can name a reminder of somebody else. */
  private refOf(id: string) {
    return { tube: Remind, key: `${this.tenant}/${id}` };
  }
}
