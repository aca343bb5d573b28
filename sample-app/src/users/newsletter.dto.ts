import { Matches } from 'class-validator';

export class NewsletterDto {
  /** How often it's sent, such as 30s or 1d. */
  @Matches(/^[1-9]\d{0,4}[smhd]$/, { message: 'every must be a duration such as 30s, 5m or 1d' })
  every!: `${number}${'s' | 'm' | 'h' | 'd'}`;
}
